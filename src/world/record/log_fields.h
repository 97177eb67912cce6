// The fields of a line of a log in JSON, whatever it holds: each is checked as it is asked for.
// Tested by src/world/record/decision_log_test.cc.

#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/ids.h"
#include "base/time.h"
#include "policy/words.h"

namespace outpace::record {

inline constexpr std::uint32_t kWorkersMost = 1'000'000;

// What is wrong with a line; the reader adds where it is.
class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An object of the line, whose fields are checked as they are asked for.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string_view what) : object_(object) {
    if (!object.is_object()) {
      throw BadLine(fmt::format("{} is not an object", what));
    }
  }

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }

  [[nodiscard]] const nlohmann::json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      throw BadLine(fmt::format("no '{}'", key));
    }
    return *found;
  }

  template <typename Unsigned>
  [[nodiscard]] Unsigned count(const char* key) const {
    const nlohmann::json& value = at(key);
    constexpr auto kMost = std::numeric_limits<Unsigned>::max();
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
      throw BadLine(fmt::format("'{}' is not a whole number from 0 to {}", key, kMost));
    }
    return value.get<Unsigned>();
  }

  [[nodiscard]] std::uint32_t examples(const char* key) const {
    const auto examples = count<std::uint32_t>(key);
    if (examples == 0) {
      throw BadLine(fmt::format("'{}' is 0; a gradient is of one example at least", key));
    }
    return examples;
  }

  [[nodiscard]] Duration nanoseconds(const char* key) const {
    const nlohmann::json& value = at(key);
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
      throw BadLine(fmt::format("'{}' is not a whole number of nanoseconds", key));
    }
    return Duration{value.get<std::int64_t>()};
  }

  [[nodiscard]] double real(const char* key) const {
    const nlohmann::json& value = at(key);
    if (value.is_number()) {
      return value.get<double>();
    }
    if (value == "nan") {
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (value == "inf" || value == "-inf") {
      return std::copysign(std::numeric_limits<double>::infinity(), value == "inf" ? 1.0 : -1.0);
    }
    throw BadLine(fmt::format("'{}' is not a number", key));
  }

  [[nodiscard]] bool truth(const char* key) const {
    const nlohmann::json& value = at(key);
    if (!value.is_boolean()) {
      throw BadLine(fmt::format("'{}' is not true or false", key));
    }
    return value.get<bool>();
  }

  [[nodiscard]] const std::string& text(const char* key) const {
    const nlohmann::json& value = at(key);
    if (!value.is_string()) {
      throw BadLine(fmt::format("'{}' is not a string", key));
    }
    return value.get_ref<const std::string&>();
  }

  template <typename Value, std::size_t kWords>
  [[nodiscard]] Value word(const char* key,
                           const std::array<policy::Word<Value>, kWords>& words) const {
    const std::optional<Value> value = value_of(words, text(key));
    if (!value) {
      throw BadLine(fmt::format("unknown {} '{}'", key, text(key)));
    }
    return *value;
  }

  // More may take part than were planned.
  [[nodiscard]] WorkerId worker() const {
    const auto worker = count<std::uint32_t>("worker");
    if (worker >= kWorkersMost) {
      throw BadLine(fmt::format("worker {}: at most {} are read", worker, kWorkersMost));
    }
    return WorkerId{worker};
  }
  [[nodiscard]] Sequence release() const { return Sequence{count<std::uint64_t>("release")}; }

 private:
  const nlohmann::json& object_;
};

}  // namespace outpace::record
