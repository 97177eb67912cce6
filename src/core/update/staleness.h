// How a gradient's staleness tau is treated: by one weight for the whole gradient, or by a
// correction of its numbers (correction.h), which depends on more than tau. Every rule is the
// identity at tau = 0, except consgd, share, and dynsgd after other gradients of the same clock.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/spec.h"

namespace outpace::update {

// A value: rule and parameters. Specs: "none", "inverse", "exponential:rate=0.2",
// "polynomial:power=0.5", "consgd", "share", "dynsgd", "gap:m=0.99", "dcasgd:lambda=0.04",
// "dcasgd:form=adaptive,lambda=2,m=0.95".
class StalenessRule {
 public:
  // Throws a usage error that names the nearest rule.
  static StalenessRule parse(const Spec& spec);
  static StalenessRule none();

  // Over how many updates every worker computes once: live / gradients. Each is at least 1.
  struct Round {
    std::uint32_t live;           // Workers that take part now.
    std::uint32_t gradients = 1;  // In an update.
  };
  // In (0, 1]; never rises with tau. Always 1 for a correction.
  [[nodiscard]] double weight(std::uint64_t tau, const Round& round) const;

  enum class Kind : std::uint8_t {
    kNone,
    kInverse,
    kExponential,
    kPolynomial,
    kConSgd,
    kShare,
    kDynSgd,
    kGap,
    kDcAsgd
  };
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::string& name() const;

  // Parameters of a correction. Used by gap (m) and dcasgd.
  struct Corrects {
    double lambda = 0.0;
    double m = 0.0;
    bool adaptive = false;
  };
  [[nodiscard]] const Corrects& corrects() const { return corrects_; }

 private:
  Kind kind_ = Kind::kNone;
  double parameter_ = 0.0;  // Parameter of a weight.
  Corrects corrects_;
};

struct StalenessDoc {
  std::string name;
  std::string options;
  std::string rule;  // "1 / max(1, tau)"
  std::string source;
};
[[nodiscard]] std::span<const StalenessDoc> staleness_rules();

}  // namespace outpace::update
