#include "base/toml_nesting.h"

#include <cstddef>

namespace outpace {
namespace {

constexpr std::size_t kPartsMost = 32;
constexpr std::size_t kOpenMost = 32;

// The place after the string that begins here.
std::size_t after_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string_view three = text.substr(begin, 3);
  const bool is_long = three.size() == 3 && three[1] == quote && three[2] == quote;
  std::size_t at = begin + (is_long ? 3 : 1);
  for (; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == '\n' && !is_long) {
      return at;  // It has no end: the parser says so.
    } else if (text[at] == quote && (!is_long || text.substr(at, 3) == three)) {
      return at + (is_long ? 3 : 1);
    }
  }
  return text.size();
}

}  // namespace

bool nests_too_deep(std::string_view toml) {
  std::size_t dots = 0;  // Since the last letter that ends a key.
  std::size_t open = 0;
  for (std::size_t at = 0; at < toml.size();) {
    const char letter = toml[at];
    if (letter == '"' || letter == '\'') {
      at = after_string(toml, at);
      continue;
    }
    ++at;
    switch (letter) {
      case '#':
        at = toml.find('\n', at);
        at = at == std::string_view::npos ? toml.size() : at;
        break;
      case '.':
        ++dots;
        break;
      case '[':
      case '{':
        ++open;
        dots = 0;
        break;
      case ']':
      case '}':
        open -= open > 0 ? 1U : 0U;
        dots = 0;
        break;
      case ',':
      case '=':
      case '\n':
        dots = 0;
        break;
      default:
        break;
    }
    if (dots >= kPartsMost || open > kOpenMost) {
      return true;
    }
  }
  return false;
}

}  // namespace outpace
