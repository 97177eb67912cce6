#include "job/program_pages.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace outpace::job {

std::string in_short(const std::string& help, std::size_t most) {
  constexpr std::string_view kMore = "...";
  constexpr std::array<std::string_view, 3> kEnds{". ", "; ", ": "};
  std::string text = help;
  for (const std::string_view end : kEnds) {
    text = text.substr(0, text.find(end));
  }
  if (text.size() <= most) {
    return text;
  }
  const std::size_t space = text.rfind(' ', most - kMore.size());
  text.resize(space == std::string::npos ? most - kMore.size() : space);
  return text + std::string(kMore);
}

}  // namespace outpace::job
