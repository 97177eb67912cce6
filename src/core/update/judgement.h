// The verdict on an incoming gradient, before the policy hears of it.

#pragma once

#include <cstdint>

namespace outpace::update {

enum class Judgement : std::uint8_t {
  kSound,
  kNotFinite,  // It has a number that is not finite.
  // Kardam's Lipschitz filter: the gradient changed too much for the distance that the weights
  // moved.
  kTooSteep,
  // Kardam's frequency filter: too many of the gradients accepted lately are this worker's.
  kTooOften,
  // Before the Lipschitz filter has a bound:
  kTooEarly,  // Too few workers have sent a gradient to compare with.
  kTooLong    // It is much longer than the gradients of the others.
};

// Whether a filter rejected it. It is finite, but nothing of it is used.
[[nodiscard]] constexpr bool is_filtered(Judgement judgement) {
  return judgement != Judgement::kSound && judgement != Judgement::kNotFinite;
}

// The words for the worker.
[[nodiscard]] constexpr const char* to_words(Judgement judgement) {
  switch (judgement) {
    case Judgement::kSound:
      return "";
    case Judgement::kNotFinite:
      return "not finite";
    case Judgement::kTooSteep:
      return "filtered: too steep";
    case Judgement::kTooOften:
      return "filtered: too often";
    case Judgement::kTooEarly:
      return "filtered: too early";
    case Judgement::kTooLong:
      return "filtered: too long";
  }
  return "";
}

}  // namespace outpace::update
