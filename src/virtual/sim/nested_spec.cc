#include "sim/nested_spec.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace outpace::sim {
namespace {

// What stands in quotes in a message: not a whole screen of it.
std::string quoted(std::string_view text) {
  constexpr std::size_t kLettersMax = 200;
  return "'" + std::string(text.substr(0, kLettersMax)) +
         (text.size() > kLettersMax ? "...'" : "'");
}

[[noreturn]] void refuse(const std::string& what, std::string_view text, const std::string& why) {
  throw usage_error(what + " " + quoted(text) + ": " + why);
}

// 'a=b' is key and value, unless the '=' is inside of parentheses: "f(a=b)" is a lone value.
std::pair<std::string_view, std::string_view> split_key(std::string_view element) {
  const std::size_t equals = element.find('=');
  if (equals == std::string_view::npos || element.find('(') < equals) {
    return {"", element};
  }
  return {trim(element.substr(0, equals)), trim(element.substr(equals + 1))};
}

}  // namespace

std::vector<std::string_view> split_outside_parentheses(const std::string& what,
                                                        std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      if (depth == 0) {
        refuse(what, text, "a ')' without its '('");
      }
      --depth;
    } else if (text[i] == ',' && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (depth != 0) {
    refuse(what, text, "a '(' without its ')'");
  }
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

Multiple split_multiple(std::string_view text) {
  const std::size_t star = text.find('*');
  if (star == std::string_view::npos || text.find('(') < star) {
    return {"", text};
  }
  return {trim(text.substr(0, star)), trim(text.substr(star + 1))};
}

Spec parse_nested(const std::string& what, std::string_view text) {
  const std::string form = "write name or name(key=value,key=value)";
  const std::string_view whole = trim(text);
  if (split_outside_parentheses(what, whole).size() != 1) {
    refuse(what, whole, "a ',' outside of parentheses; " + form);
  }
  const std::size_t open = std::min(whole.find('('), whole.size());
  Spec spec{
      .name = std::string(trim(whole.substr(0, open))), .options = {}, .text = std::string(whole)};
  if (spec.name.empty() || spec.name.find_first_of("=* ") != std::string::npos) {
    refuse(what, whole, "no name; " + form);
  }
  if (open == whole.size()) {
    return spec;
  }
  if (whole.back() != ')' || whole.find(')') == open + 1) {
    refuse(what, whole, form);
  }
  const std::string_view inside = whole.substr(open + 1, whole.size() - open - 2);
  for (const std::string_view element : split_outside_parentheses(what, inside)) {
    const auto [key, value] = split_key(element);
    if (value.empty() || (key.empty() && element.starts_with('='))) {
      refuse(what, whole, quoted(element) + " is not key=value; " + form);
    }
    for (const auto& option : spec.options) {
      if (option.first == key && !key.empty()) {
        refuse(what, whole, quoted(key) + " is given twice");
      }
    }
    spec.options.emplace_back(key, value);
  }
  return spec;
}

}  // namespace outpace::sim
