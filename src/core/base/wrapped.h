// Text for a terminal of 80 columns.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outpace {

inline constexpr std::size_t kTerminalColumns = 80;

// The text in lines that are at most `width` characters long, if no word is longer; each ends with
// a newline. Lines after the first begin with `indent` blanks. A newline in the text stays.
[[nodiscard]] std::string wrapped(std::string_view text,
                                  std::size_t indent = 0,
                                  std::size_t width = kTerminalColumns);

}  // namespace outpace
