// The words of decisions.jsonl; the writer and the reader share these tables.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "policy/policy.h"

namespace outpace::record {

template <typename Value>
struct Word {
  Value value;
  std::string_view text;
};

inline constexpr std::array<Word<policy::Departure>, 4> kDepartures{
    {{policy::Departure::kLeft, "left"},
     {policy::Departure::kDead, "dead"},
     {policy::Departure::kDrained, "drained"},
     {policy::Departure::kStalled, "stalled"}}};

inline constexpr std::array<Word<policy::Ending>, 3> kEndings{
    {{policy::Ending::kAbandoned, "abandoned"},
     {policy::Ending::kRefused, "refused"},
     {policy::Ending::kFiltered, "filtered"}}};

inline constexpr std::array<Word<policy::Measure>, 5> kMeasures{
    {{policy::Measure::kTrainingLoss, "training_loss"},
     {policy::Measure::kTestLoss, "test_loss"},
     {policy::Measure::kTestAccuracy, "test_accuracy"},
     {policy::Measure::kGradientNorm, "gradient_norm"},
     {policy::Measure::kSingleGradientNorm, "single_gradient_norm"}}};

template <typename Value, std::size_t kWords>
[[nodiscard]] constexpr std::string_view text_of(const std::array<Word<Value>, kWords>& words,
                                                 Value value) {
  for (const Word<Value>& word : words) {
    if (word.value == value) {
      return word.text;
    }
  }
  CHECK(false);  // A new enumerator needs its word above.
  return {};
}

template <typename Value, std::size_t kWords>
[[nodiscard]] constexpr std::optional<Value> value_of(const std::array<Word<Value>, kWords>& words,
                                                      std::string_view text) {
  for (const Word<Value>& word : words) {
    if (word.text == text) {
      return word.value;
    }
  }
  return std::nullopt;
}

}  // namespace outpace::record
