#include "base/spec.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"

namespace outpace {
namespace {

std::string shortest(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

// "1ns", "0s", "1000000s".
std::string shortest_time(double seconds) {
  static constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  const auto* unit = kUnits.data();
  while (unit != &kUnits.back() && seconds > 0 && seconds < unit->first) {
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g%s", seconds / unit->first, unit->second);
  return buffer;
}

}  // namespace

Spec Spec::parse(std::string_view text) {
  Spec spec{.name = {}, .options = {}, .text = std::string(text)};
  const std::size_t colon = text.find(':');
  if (const std::size_t open = text.find('('); open < colon) {
    spec.name = text.substr(0, open);
    if (spec.name.empty() || text.back() != ')' || open + 2 == text.size()) {
      throw usage_error("'" + spec.text + "': write name(value), with nothing after the ')'");
    }
    spec.options.emplace_back("", text.substr(open + 1, text.size() - open - 2));
    return spec;
  }
  spec.name = text.substr(0, colon);
  if (spec.name.empty()) {
    throw usage_error("'" + spec.text + "': a name is missing; write name:key=value,key=value");
  }
  if (colon == std::string_view::npos) {
    return spec;
  }
  for (const std::string_view part : split(text.substr(colon + 1), ',')) {
    const std::size_t equals = part.find('=');
    const bool lone = equals == std::string_view::npos;
    std::string key(lone ? std::string_view{} : part.substr(0, equals));
    std::string value(lone ? part : part.substr(equals + 1));
    if (value.empty() || (!lone && key.empty()) || (lone && !spec.options.empty())) {
      throw usage_error("'" + spec.text + "': '" + std::string(part) +
                        "' is not key=value; write name:key=value,key=value");
    }
    for (const auto& option : spec.options) {
      if (option.first == key) {
        throw usage_error("'" + spec.text + "': '" + key + "' is given twice");
      }
    }
    spec.options.emplace_back(std::move(key), std::move(value));
  }
  return spec;
}

std::optional<std::string> SpecReader::find(const std::string& key) {
  const bool first = known_.empty();
  known_.push_back(key);
  std::optional<std::string> found;
  for (const auto& option : spec_.options) {
    if (option.first == key || (first && option.first.empty())) {
      if (found) {  // "ssp:3,s=4"
        throw usage_error(what_ + " '" + spec_.text + "': '" + key + "' is given twice");
      }
      found = option.second;
    }
  }
  return found;
}

void SpecReader::refuse(const std::string& key,
                        const std::string& value,
                        const std::string& right) const {
  for (const auto& option : spec_.options) {
    const bool unread = std::find(known_.begin(), known_.end(), option.first) == known_.end();
    // A missing option beside one that is nearly it: a slip of the finger.
    if (value.empty() && unread && !nearest(option.first, std::span(&key, 1)).empty()) {
      refuse_unknown(option.first);
    }
  }
  const std::string found = value.empty() ? "is missing" : "is '" + value + "'";
  throw usage_error(what_ + " '" + spec_.text + "': " + key + " " + found + "; it takes " + right);
}

std::uint64_t SpecReader::count(const std::string& key,
                                std::optional<std::uint64_t> otherwise,
                                std::uint64_t least,
                                std::uint64_t most) {
  const auto text = find(key);
  const auto value = text ? parse_count(*text) : otherwise;
  if (!value || *value < least || *value > most) {
    refuse(key,
           text.value_or(""),
           most == UINT64_MAX
               ? "a whole number of at least " + std::to_string(least)
               : "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *value;
}

double SpecReader::number(const std::string& key,
                          std::optional<double> otherwise,
                          double least,
                          double most) {
  const auto text = find(key);
  const auto value = text ? parse_number(*text) : otherwise;
  if (!value || *value < least || *value > most) {
    refuse(key, text.value_or(""), "a number from " + shortest(least) + " to " + shortest(most));
  }
  return *value;
}

std::optional<std::variant<std::uint64_t, double>> SpecReader::count_or_multiple(
    const std::string& key, const CountOrMultiple& limits) {
  const auto text = find(key);
  if (!text) {
    return std::nullopt;
  }
  if (const auto count = parse_count(*text);
      count && *count >= limits.least && *count <= limits.most) {
    return *count;
  }
  const auto factor = text->back() == 'x'
                          ? parse_number(std::string_view(*text).substr(0, text->size() - 1))
                          : std::nullopt;
  if (!factor || *factor < limits.multiple_least || *factor > limits.multiple_most) {
    refuse(key,
           *text,
           "a whole number from " + std::to_string(limits.least) + " to " +
               std::to_string(limits.most) + ", or a multiple from " +
               shortest(limits.multiple_least) + "x to " + shortest(limits.multiple_most) + "x");
  }
  return *factor;
}

double SpecReader::seconds(const std::string& key,
                           std::optional<double> otherwise,
                           double least,
                           double most) {
  const auto text = find(key);
  auto value = otherwise;
  if (text) {
    const auto duration = parse_number(*text) ? std::nullopt : parse_duration(*text);
    value = duration ? std::optional(to_seconds(*duration)) : std::nullopt;
  }
  if (!value || *value < least || *value > most) {
    refuse(key,
           text.value_or(""),
           "a time with its unit, such as 100ms or 1.5s, from " + shortest_time(least) + " to " +
               shortest_time(most));
  }
  return *value;
}

std::string SpecReader::text(const std::string& key, const std::string& right) {
  const auto text = find(key);
  if (!text) {
    refuse(key, "", right);
  }
  return *text;
}

std::string SpecReader::word(const std::string& key,
                             std::span<const std::string> choices,
                             const std::string& otherwise) {
  const auto text = find(key);
  std::string value = text.value_or(otherwise);
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    std::string right;
    for (const std::string& choice : choices) {
      right += (right.empty() ? "" : "|") + choice;
    }
    refuse(key, value, right);
  }
  return value;
}

void SpecReader::finish() const {
  for (const auto& option : spec_.options) {
    if (option.first.empty() && !known_.empty()) {
      continue;  // The lone value, read as the first option.
    }
    if (std::find(known_.begin(), known_.end(), option.first) == known_.end()) {
      const std::string& key = option.first.empty() ? option.second : option.first;
      refuse_unknown(key);
    }
  }
}

void SpecReader::refuse_unknown(const std::string& key) const {
  throw usage_error(what_ + " '" + spec_.text + "': unknown option '" + key + "'" +
                    suggestion(key, known_));
}

}  // namespace outpace
