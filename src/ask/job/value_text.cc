#include "job/value_text.h"

#include <charconv>

namespace outpace::job {

std::string number_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  return {digits.begin(), end};
}

std::string duration_text(Duration duration) {
  constexpr std::array<std::pair<const char*, std::int64_t>, 4> kUnits{
      {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};
  for (const auto& [unit, nanoseconds] : kUnits) {
    if (duration.count() % nanoseconds == 0) {
      return std::to_string(duration.count() / nanoseconds) + unit;
    }
  }
  return "";
}

std::optional<bool> Value<bool>::parse(std::string_view text) {
  if (text == "true" || text == "1") {
    return true;
  }
  return text == "false" || text == "0" ? std::optional(false) : std::nullopt;
}

std::optional<Duration> Value<Duration>::parse(std::string_view text) {
  const auto duration = parse_duration(text);
  return duration && *duration <= kDurationMost ? duration : std::nullopt;
}

}  // namespace outpace::job
