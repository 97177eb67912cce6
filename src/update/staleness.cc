#include "update/staleness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace outpace::update {
namespace {

using Kind = StalenessRule::Kind;

// In the order of Kind.
const std::array<StalenessDoc, 4>& table() {
  static const std::array<StalenessDoc, 4> kDocs{{
      {"none", "", "1", "every gradient counts fully, as in Downpour SGD (Dean et al. 2012)"},
      {"inverse",
       "",
       "1 / max(1, tau)",
       "Zhang, Gupta, Lian, Liu, 'Staleness-aware Async-SGD', IJCAI 2016: alpha_0 / tau"},
      {"exponential",
       "rate=0.2",
       "exp(-rate * tau)",
       "Damaskinos et al., 'Asynchronous Byzantine Machine Learning' (Kardam), ICML 2018: "
       "dampening by a falling Lambda(tau) with Lambda(0) = 1"},
      {"polynomial",
       "power=0.5",
       "1 / (1 + tau)^power",
       "Xie, Koyejo, Gupta, 'Asynchronous Federated Optimization' (FedAsync), 2019: (1 + tau)^-a"},
  }};
  return kDocs;
}

}  // namespace

StalenessRule StalenessRule::parse(const Spec& spec) {
  std::vector<std::string> names;
  for (const StalenessDoc& doc : table()) {
    names.push_back(doc.name);
  }
  const auto found = std::find(names.begin(), names.end(), spec.name);
  if (found == names.end()) {
    throw usage_error("unknown staleness rule '" + spec.name + "'" + suggestion(spec.name, names));
  }
  SpecReader reader("staleness rule", spec);
  StalenessRule rule;
  rule.kind_ = static_cast<Kind>(found - names.begin());
  if (rule.kind_ == Kind::kExponential) {
    rule.parameter_ = reader.number("rate", 0.2, 0.0, 1000.0);
  } else if (rule.kind_ == Kind::kPolynomial) {
    rule.parameter_ = reader.number("power", 0.5, 0.0, 1000.0);
  }
  reader.finish();
  return rule;
}

StalenessRule StalenessRule::none() {
  return {};
}

double StalenessRule::weight(std::uint64_t tau) const {
  const auto staleness = static_cast<double>(tau);
  double weight = 1.0;
  switch (kind_) {
    case Kind::kNone:
      break;
    case Kind::kInverse:
      weight = 1.0 / std::max(1.0, staleness);
      break;
    case Kind::kExponential:
      weight = std::exp(-parameter_ * staleness);
      break;
    case Kind::kPolynomial:
      weight = std::pow(1.0 + staleness, -parameter_);
      break;
  }
  // Never 0, however stale: that is a policy's to decide, by dropping the gradient.
  return std::max(weight, std::numeric_limits<double>::min());
}

std::span<const StalenessDoc> staleness_rules() {
  return table();
}

}  // namespace outpace::update
