#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

namespace outpace {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// The letter at the start of a text that is not empty.
struct Letter {
  std::size_t bytes = 1;
  bool shows = false;  // It is UTF-8 and controls nothing.
};

Letter first_letter(std::string_view text) {
  const auto byte = [text](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) {
    return {.bytes = 1, .shows = lead >= 0x20 && lead != 0x7f};
  }
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) {
    return {};
  }
  std::uint32_t point = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return {};
    }
    point = point << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kFirst{0, 0, 0x80, 0x800, 0x10000};
  if (point < kFirst[bytes] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    return {};
  }
  const bool direction = point == 0x200e || point == 0x200f || point == 0x061c ||
                         (point >= 0x202a && point <= 0x202e) ||
                         (point >= 0x2066 && point <= 0x2069);
  const bool line = point == 0x2028 || point == 0x2029;
  return {.bytes = bytes, .shows = point >= 0xa0 && !direction && !line};
}

struct Unit {
  std::string_view name;
  double factor;
};

// The number before the unit, times the unit's factor.
template <std::size_t kUnits>
std::optional<double> parse_with_unit(std::string_view text,
                                      const std::array<Unit, kUnits>& units) {
  for (const Unit& unit : units) {
    if (text.ends_with(unit.name)) {
      const auto value = parse_number(text.substr(0, text.size() - unit.name.size()));
      if (value && *value >= 0) {
        return *value * unit.factor;
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string near = nearest(word, candidates);
  if (!near.empty()) {
    return "; did you mean '" + near + "'?";
  }
  std::string known = candidates.empty() ? "; it takes none" : "; known: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    known += (i == 0 ? "" : ", ") + candidates[i];
  }
  return known;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || rest != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || rest != end) {
    return std::nullopt;
  }
  return value;
}

std::optional<Duration> parse_duration(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits{
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}}};
  auto seconds = parse_number(text);
  if (!seconds) {
    seconds = parse_with_unit(text, kUnits);
  }
  if (!seconds || *seconds < 0 || *seconds > 1e9) {
    return std::nullopt;
  }
  return from_seconds(*seconds);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    if (letter.shows) {
      shown.append(text.substr(0, letter.bytes));
    } else {
      shown.push_back('?');
    }
    text.remove_prefix(letter.bytes);
  }
  return shown;
}

}  // namespace outpace
