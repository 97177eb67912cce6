// The words of events: for people, and for decisions.jsonl, whose writer and reader share them.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "policy/policy.h"

namespace outpace::policy {

template <typename Value>
struct Word {
  Value value;
  std::string_view text;
};

inline constexpr std::array<Word<Departure>, 4> kDepartures{{{Departure::kLeft, "left"},
                                                             {Departure::kDead, "dead"},
                                                             {Departure::kDrained, "drained"},
                                                             {Departure::kStalled, "stalled"}}};

inline constexpr std::array<Word<Ending>, 3> kEndings{{{Ending::kAbandoned, "abandoned"},
                                                       {Ending::kRefused, "refused"},
                                                       {Ending::kFiltered, "filtered"}}};

inline constexpr std::array<Word<Measure>, 6> kMeasures{
    {{Measure::kTrainingLoss, "training_loss"},
     {Measure::kTestLoss, "test_loss"},
     {Measure::kTestAccuracy, "test_accuracy"},
     {Measure::kGradientNorm, "gradient_norm"},
     {Measure::kSingleGradientNorm, "single_gradient_norm"},
     {Measure::kScaleInvariant, "scale_invariant"}}};

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

}  // namespace outpace::policy
