#include "base/wrapped.h"

#include <algorithm>

namespace outpace {
namespace {

// Characters of UTF-8: bytes that continue a character do not count.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string one_paragraph(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::size_t used = 0;  // Columns of the line; 0 at the beginning of the text.
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (used > indent && used + 1 + columns_of(word) > width) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (used > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += columns_of(word);
  }
  return lines + "\n";
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += one_paragraph(text.substr(0, end), indent, width);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace outpace
