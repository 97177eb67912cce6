#include "update/correction.h"

#include "base/error.h"
#include "update/dcasgd.h"
#include "update/dynsgd.h"
#include "update/gap.h"

namespace outpace::update {

using Kind = StalenessRule::Kind;

std::unique_ptr<Correction> make_correction(const StalenessRule& rule, std::size_t size) {
  const StalenessRule::Corrects& options = rule.corrects();
  switch (rule.kind()) {
    case Kind::kNone:
    case Kind::kInverse:
    case Kind::kExponential:
    case Kind::kPolynomial:
    case Kind::kConSgd:
    case Kind::kShare:
      break;
    case Kind::kDynSgd:
      return std::make_unique<DynSgd>(size);
    case Kind::kGap:
      return std::make_unique<Gap>(options.m, size);
    case Kind::kDcAsgd: {
      const auto form = options.adaptive ? DcAsgd::Form::kAdaptive : DcAsgd::Form::kConstant;
      return std::make_unique<DcAsgd>(
          DcAsgd::Options{.form = form, .lambda = options.lambda, .m = options.m}, size);
    }
  }
  return nullptr;
}

void check_suits(const StalenessRule& rule, const Spec& optimizer, bool scale_invariant) {
  if (scale_invariant && (rule.kind() == Kind::kDynSgd || rule.kind() == Kind::kGap)) {
    throw usage_error("--staleness " + rule.name() + " beside --optimizer " + optimizer.text +
                      ": this optimizer undoes any scale of the gradient; take sgd, momentum or "
                      "nesterov, or another rule");
  }
}

}  // namespace outpace::update
