#include "update/staleness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "update/optimizer.h"

namespace outpace::update {
namespace {

using Kind = StalenessRule::Kind;

struct Row {
  Kind kind;
  const char* name;
  const char* options;
  const char* rule;
  const char* source;
};
// In the order of Kind.
constexpr std::array<Row, 9> kRows{{
    {Kind::kNone,
     "none",
     "",
     "1",
     "every gradient counts fully, as in Downpour SGD (Dean et al. 2012)"},
    {Kind::kInverse,
     "inverse",
     "",
     "1 / max(1, tau)",
     "Zhang, Gupta, Lian, Liu, 'Staleness-aware Async-SGD', IJCAI 2016: alpha_0 / tau"},
    {Kind::kExponential,
     "exponential",
     "rate=0.2",
     "exp(-rate * tau)",
     "Damaskinos et al., 'Asynchronous Byzantine Machine Learning' (Kardam), ICML 2018: "
     "dampening by a falling Lambda(tau) with Lambda(0) = 1"},
    {Kind::kPolynomial,
     "polynomial",
     "power=0.5",
     "1 / (1 + tau)^power",
     "Xie, Koyejo, Gupta, 'Asynchronous Federated Optimization' (FedAsync), 2019: (1 + tau)^-a"},
    {Kind::kConSgd,
     "consgd",
     "",
     "1 / M, of the M live workers, whatever tau",
     "Jiang, Cui, Zhang, Yu, 'Heterogeneity-aware Distributed Parameter Servers', SIGMOD 2017: "
     "ConSGD"},
    {Kind::kShare,
     "share",
     "",
     "1 / max(M / c, tau), of the M live workers and the c gradients of an update",
     "ConSGD's share, which takes its step from an update of c gradients, and alpha_0 / tau "
     "beyond it"},
    {Kind::kDynSgd,
     "dynsgd",
     "",
     "of the d-th gradient of a clock, (g - mean of those before) / d; added up",
     "Jiang, Cui, Zhang, Yu, 'Heterogeneity-aware Distributed Parameter Servers', SIGMOD 2017"},
    {Kind::kGap,
     "gap",
     "m=0.99",
     "g / (1 + |w - w_then| / C) for each weight, C = running mean of its steps",
     "Barkai, Hakimi, Schuster, 'Gap-Aware Mitigation of Gradient Staleness', ICLR 2020"},
    {Kind::kDcAsgd,
     "dcasgd",
     "form=constant,lambda=0.04",
     "g + lambda * g * g * (w - w_then); form=adaptive,lambda=2,m=0.95: lambda / sqrt(mean g^2)",
     "Zheng et al., 'Asynchronous SGD with Delay Compensation', ICML 2017, section 4"},
}};

constexpr bool each_kind_has_its_row() {
  for (std::size_t place = 0; place < kRows.size(); ++place) {
    if (kRows.at(place).kind != static_cast<Kind>(place)) {
      return false;
    }
  }
  return true;
}
static_assert(each_kind_has_its_row());

const std::array<StalenessDoc, kRows.size()>& staleness_table() {
  static const auto kDocs = [] {
    std::array<StalenessDoc, kRows.size()> docs;
    std::ranges::transform(kRows, docs.begin(), [](const Row& row) {
      return StalenessDoc{row.name, row.options, row.rule, row.source};
    });
    return docs;
  }();
  return kDocs;
}

StalenessRule::Corrects read_dcasgd(SpecReader& reader) {
  StalenessRule::Corrects corrects;
  corrects.adaptive =
      reader.word("form", std::array<std::string, 2>{"constant", "adaptive"}, "constant") ==
      "adaptive";
  corrects.lambda = reader.number("lambda", corrects.adaptive ? 2.0 : 0.04, 0.0, 1e6);
  if (corrects.adaptive) {
    corrects.m = reader.number("m", 0.95, 0.0, kBelowOne);
  }
  return corrects;
}

}  // namespace

StalenessRule StalenessRule::parse(const Spec& spec) {
  std::vector<std::string> names;
  for (const StalenessDoc& doc : staleness_table()) {
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
  } else if (rule.kind_ == Kind::kGap) {
    rule.corrects_.m = reader.number("m", 0.99, 0.0, kBelowOne);
  } else if (rule.kind_ == Kind::kDcAsgd) {
    rule.corrects_ = read_dcasgd(reader);
  }
  reader.finish();
  return rule;
}

StalenessRule StalenessRule::none() {
  return {};
}

const std::string& StalenessRule::name() const {
  return staleness_table().at(static_cast<std::size_t>(kind_)).name;
}

double StalenessRule::weight(std::uint64_t tau, const Round& round) const {
  const auto staleness = static_cast<double>(tau);
  double weight = 1.0;
  switch (kind_) {
    case Kind::kNone:
    case Kind::kDynSgd:
    case Kind::kGap:
    case Kind::kDcAsgd:
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
    case Kind::kConSgd:
      weight = 1.0 / std::max(1U, round.live);
      break;
    case Kind::kShare: {
      const double updates = static_cast<double>(round.live) / std::max(1U, round.gradients);
      weight = 1.0 / std::max({1.0, updates, staleness});
      break;
    }
  }
  // Never 0, however stale: dropping a gradient is up to the policy.
  return std::max(weight, std::numeric_limits<double>::min());
}

std::span<const StalenessDoc> staleness_rules() {
  return staleness_table();
}

}  // namespace outpace::update
