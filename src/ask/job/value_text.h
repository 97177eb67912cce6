// How a value of each type is read from text and written as text: Value<T>.
//
// One reading for the command line, the environment and TOML files. What is written can be read
// again and gives the same value. A type of another folder gets its Value<T> here; an enumeration
// gets one by choices().

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"
#include "base/time.h"

namespace outpace::job {

// The shortest text that gives the same number again.
[[nodiscard]] std::string number_text(double value);
// In the largest unit in which it is a whole number: "20ms", "90s".
[[nodiscard]] std::string duration_text(Duration duration);

// The longest duration that an option takes.
inline constexpr Duration kDurationMost = std::chrono::hours(24 * 365 * 10);

// Value<T> has:
//   kType   the type's name in help texts and docs/options.md
//   takes() what a right text looks like, for messages
//   parse() the value, or nothing if the text is none; may throw a usage error that says more
//   text()  the value as text
template <typename T>
struct Value;

template <>
struct Value<std::string> {
  static constexpr const char* kType = "TEXT";
  static std::string takes() { return "a text"; }
  static std::optional<std::string> parse(std::string_view text) { return std::string(text); }
  static std::string text(const std::string& value) { return value; }
};

template <>
struct Value<bool> {
  static constexpr const char* kType = "FLAG";
  static std::string takes() { return "true or false"; }
  static std::optional<bool> parse(std::string_view text);
  static std::string text(bool value) { return value ? "true" : "false"; }
};

template <typename Count>
struct CountValue {
  static constexpr const char* kType = "COUNT";
  static std::string takes() { return "a whole number from 0 on"; }
  static std::optional<Count> parse(std::string_view text) {
    const auto count = parse_count(text);
    return count && std::in_range<Count>(*count) ? std::optional(static_cast<Count>(*count))
                                                 : std::nullopt;
  }
  static std::string text(Count value) { return std::to_string(value); }
};
template <>
struct Value<std::uint32_t> : CountValue<std::uint32_t> {};
template <>
struct Value<std::uint64_t> : CountValue<std::uint64_t> {};

template <>
struct Value<double> {
  static constexpr const char* kType = "NUMBER";
  static std::string takes() { return "a number"; }
  static std::optional<double> parse(std::string_view text) { return parse_number(text); }
  static std::string text(double value) { return number_text(value); }
};

template <>
struct Value<Duration> {
  static constexpr const char* kType = "DURATION";
  static std::string takes() { return "a duration such as 20ms or 1.5s, ten years at most"; }
  static std::optional<Duration> parse(std::string_view text);
  static std::string text(Duration value) { return duration_text(value); }
};

// A name and its options: "ssp:s=3". Whether there is such a policy is not known here.
template <>
struct Value<Spec> {
  static constexpr const char* kType = "SPEC";
  static std::string takes() { return "a name with options, such as name:key=value"; }
  static std::optional<Spec> parse(std::string_view text) { return Spec::parse(text); }
  static std::string text(const Spec& value) { return value.text; }
};

// The words of an enumeration, listed in Choices<T>::kWords.
template <typename T>
struct Choices;

template <typename T>
requires requires {
  Choices<T>::kWords;
}
struct Value<T> {
  static constexpr const char* kType = "WORD";
  static std::string takes() {
    std::string all;
    for (std::size_t i = 0; i < Choices<T>::kWords.size(); ++i) {
      const bool last = i + 1 == Choices<T>::kWords.size();
      all += (i == 0 ? "" : last ? " or " : ", ") + std::string(Choices<T>::kWords[i].first);
    }
    return all;
  }
  static std::optional<T> parse(std::string_view text) {
    for (const auto& [word, value] : Choices<T>::kWords) {
      if (word == text) {
        return value;
      }
    }
    return std::nullopt;
  }
  static std::string text(T value) {
    for (const auto& [word, one] : Choices<T>::kWords) {
      if (one == value) {
        return std::string(word);
      }
    }
    return "";
  }
};

}  // namespace outpace::job
