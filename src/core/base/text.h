// Words and numbers in text: the nearest known word, and strict parsing that names what is wrong.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace outpace {

// The candidate with the smallest edit distance to `word`; empty if none is near enough to be
// meant (more than a third of the letters differ, and more than two).
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'sync'?" if something is near, else "; known: async, sync, ...".
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string> candidates);

// The whole text as a number, or nothing: no blanks, no rest, never NaN or infinite.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text);
// "20ms", "1.5s", "3m", "500us", "10ns"; a bare number is seconds. Never negative.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);

// A text that a peer sent, safe for a terminal and one line long: '?' replaces each character that
// controls a terminal, a line or the direction of writing, and each byte that is not UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace outpace
