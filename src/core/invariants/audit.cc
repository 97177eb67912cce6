#include "invariants/audit.h"

#include <cmath>
#include <string>

#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

// Roundings of one number in an update: the gradient's, the mean's, the step's and the sum's.
constexpr double kRoundings = 8.0;
constexpr double kHalfUlp = 0x1p-24;  // Half an ulp of a float32 near 1.

}  // namespace

void Audit::used(const protocol::Ranges& ranges, double weight) {
  for (const std::uint64_t example : order_.examples(ranges)) {
    expected_[example] += weight;
  }
}

void Audit::check(std::span<const float> weights, std::uint64_t updates) const {
  for (std::size_t example = 0; example < expected_.size(); ++example) {
    const double applied = -static_cast<double>(weights[example]);
    const double rounding =
        kRoundings * kHalfUlp * static_cast<double>(updates + 1) * (1.0 + expected_[example]);
    hold(std::abs(applied - expected_[example]) <= rounding, "I1", [&] {
      return "example " + std::to_string(example) + " is in the weights " +
             std::to_string(applied) + " times, and was accepted " +
             std::to_string(expected_[example]) + " times";
    });
  }
}

}  // namespace outpace::invariants
