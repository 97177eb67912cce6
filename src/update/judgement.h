// What is found of a gradient when it comes in, before the policy hears of it.

#pragma once

#include <cstdint>

namespace outpace::update {

enum class Judgement : std::uint8_t {
  kSound,
  kNotFinite,  // A number in it is not finite.
  kTooSteep,   // Kardam's Lipschitz filter: it changed too much for how far the weights moved.
  kTooOften,   // Kardam's frequency filter: too many of those taken up lately are this worker's.
  // Before the Lipschitz filter has a bound:
  kTooEarly,  // Too few workers have sent a gradient that this one could be held against.
  kTooLong    // It is much longer than theirs.
};

// A filter turned it away: it is whole, and nothing of it is used.
[[nodiscard]] constexpr bool is_filtered(Judgement judgement) {
  return judgement != Judgement::kSound && judgement != Judgement::kNotFinite;
}

// For people: what the worker is told.
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
