#include "job/toml_text.h"

#include <array>
#include <charconv>
#include <string_view>

#include "base/toml_nesting.h"

namespace outpace::job {

std::string toml_text(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (node.is_integer() || node.is_floating_point() || node.is_boolean()) {
    std::string out;
    node.visit([&out](const auto& value) {
      if constexpr (toml::is_boolean<decltype(value)>) {
        out = value.get() ? "true" : "false";
      } else if constexpr (toml::is_number<decltype(value)>) {
        std::array<char, 32> digits{};  // As few as give the same number again.
        const auto end = std::to_chars(digits.begin(), digits.end(), value.get()).ptr;
        out = std::string_view(digits.begin(), end);
      }
    });
    return out;
  }
  throw usage_error(where + ": a text, a number, true or false was expected");
}

std::vector<std::string> toml_texts(const toml::node& node, const std::string& where) {
  std::vector<std::string> texts;
  if (const auto* array = node.as_array()) {
    for (const toml::node& element : *array) {
      texts.push_back(toml_text(element, where));
    }
  } else {
    texts.push_back(toml_text(node, where));
  }
  return texts;
}

void check_nesting(std::string_view text, const std::string& path) {
  if (nests_too_deep(text)) {
    throw usage_error(path + ": nests deeper than any configuration does");
  }
}

Error toml_error(const toml::parse_error& error, const std::string& path) {
  const std::string line =
      error.source().begin.line > 0 ? ":" + std::to_string(error.source().begin.line) : "";
  return usage_error(path + line + ": " + std::string(error.description()));
}

}  // namespace outpace::job
