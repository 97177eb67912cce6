// Several numbers in one option: "8", "1,2,4", "1..64" or "1..4,8".

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/value_text.h"

namespace outpace::job {

inline constexpr std::uint32_t kCountMost = 1'000'000;  // The greatest number in a list.
inline constexpr std::size_t kCountsMost = 10'000;      // The most numbers in a list.

struct CountList {
  std::vector<std::uint32_t> counts;  // In the order in which they are written; each at least 1.
  std::string text;
};
template <>
struct Value<CountList> {
  static constexpr const char* kType = "COUNTS";
  static std::string takes();
  static std::optional<CountList> parse(std::string_view text);
  static std::string text(const CountList& value) { return value.text; }
};

// REQUIRES: the text is a list.
[[nodiscard]] CountList count_list(std::string_view text);

// Throws a usage error that names the option unless each number is at most `most`.
void check_most(const std::string& option, const CountList& list, std::uint32_t most);

}  // namespace outpace::job
