#include "cli/count_list.h"

#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace outpace::cli {

std::vector<std::uint32_t> parse_count_list(const std::string& option,
                                            const std::string& text,
                                            std::uint32_t most) {
  constexpr std::size_t kCountsMost = 10'000;
  constexpr std::size_t kShown = 40;
  std::vector<std::uint32_t> counts;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    const auto first = parse_count(part.substr(0, dots));
    const auto last = dots == std::string_view::npos ? first : parse_count(part.substr(dots + 2));
    if (!first || !last || *first < 1 || *last < *first || *last > most ||
        counts.size() + *last - *first >= kCountsMost) {
      throw usage_error(fmt::format(
          "--{} is '{}'; it takes a number, 1..64 or 1,2,4, each from 1 to {}, at most {} of them",
          option,
          text.substr(0, kShown),
          most,
          kCountsMost));
    }
    counts.reserve(counts.size() + (*last - *first) + 1);
    for (std::uint64_t count = *first; count <= *last; ++count) {
      counts.push_back(static_cast<std::uint32_t>(count));
    }
  }
  return counts;
}

}  // namespace outpace::cli
