// How a gradient's staleness tau changes its weight. Every rule is the identity at tau = 0.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/spec.h"

namespace outpace::update {

// A value: rule and parameters. Specs: "none", "inverse", "exponential:rate=0.2",
// "polynomial:power=0.5".
class StalenessRule {
 public:
  // Throws a usage error that names the nearest rule.
  static StalenessRule parse(const Spec& spec);
  static StalenessRule none();

  // In (0, 1]; 1 at tau = 0; never rises with tau.
  [[nodiscard]] double weight(std::uint64_t tau) const;

  enum class Kind : std::uint8_t { kNone, kInverse, kExponential, kPolynomial };

 private:
  Kind kind_ = Kind::kNone;
  double parameter_ = 0.0;
};

struct StalenessDoc {
  std::string name;
  std::string options;
  std::string rule;  // "1 / max(1, tau)"
  std::string source;
};
[[nodiscard]] std::span<const StalenessDoc> staleness_rules();

}  // namespace outpace::update
