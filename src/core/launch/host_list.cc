#include "launch/host_list.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.h"

namespace outpace::launch {
namespace {

constexpr std::size_t kHostMax = 253;  // The longest name in DNS.

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool stands_in_names(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '-' || letter == '.' || letter == '_';
}

// The digits that "20-25" begins with, or "037"; empty if that is no range.
std::string_view first_of_range(std::string_view range) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const auto low = parse_count(first);
  const auto high = dash == std::string_view::npos ? low : parse_count(range.substr(dash + 1));
  return low && high && *low <= *high ? first : std::string_view{};
}

// The same of "10,20-25,037"; empty if any of its ranges is none.
std::string_view first_of_ranges(std::string_view ranges) {
  const std::vector<std::string_view> all = split(ranges, ',');
  const bool right = std::all_of(all.begin(), all.end(), [](std::string_view range) {
    return !first_of_range(range).empty();
  });
  return right ? first_of_range(all.front()) : std::string_view{};
}

}  // namespace

std::optional<std::string> first_host(std::string_view list) {
  std::string host;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    std::string_view part = list.substr(at, 1);
    if (list[at] == '[') {
      const std::size_t end = list.find(']', at);
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
      part = first_of_ranges(list.substr(at + 1, end - at - 1));
      at = end;
    } else if (!stands_in_names(list[at])) {
      return std::nullopt;
    }
    if (part.empty() || host.size() + part.size() > kHostMax) {
      return std::nullopt;
    }
    host += part;
  }
  return host.empty() ? std::nullopt : std::optional(host);
}

}  // namespace outpace::launch
