#include "job/count_list.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::job {
namespace {

std::string list_words(std::uint32_t most) {
  return "a number, a range such as 1..64 or a list such as 1,2,4, each number from 1 to " +
         std::to_string(most) + ", at most " + std::to_string(kCountsMost) + " of them";
}

}  // namespace

std::string Value<CountList>::takes() {
  return list_words(kCountMost);
}

std::optional<CountList> Value<CountList>::parse(std::string_view text) {
  CountList list{.counts = {}, .text = std::string(text)};
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    const auto first = parse_count(part.substr(0, dots));
    const auto last = dots == std::string_view::npos ? first : parse_count(part.substr(dots + 2));
    if (!first || !last || *first < 1 || *last < *first || *last > kCountMost ||
        list.counts.size() + *last - *first >= kCountsMost) {
      return std::nullopt;
    }
    for (std::uint64_t count = *first; count <= *last; ++count) {
      list.counts.push_back(static_cast<std::uint32_t>(count));
    }
  }
  return list;
}

CountList count_list(std::string_view text) {
  const auto list = Value<CountList>::parse(text);
  CHECK(list.has_value());
  return *list;
}

void check_most(const std::string& option, const CountList& list, std::uint32_t most) {
  if (*std::ranges::max_element(list.counts) > most) {
    throw usage_error("--" + option + " is '" + list.text + "'; it takes " + list_words(most));
  }
}

}  // namespace outpace::job
