#include "policy/promise.h"

#include <variant>

#include "policy/catalogue.h"
#include "policy/lag_bound.h"

namespace outpace::policy::promises {

std::uint64_t first_option(const Spec& spec) {
  SpecReader options("policy", spec);
  return options.count(find(spec.name).options.front().name, std::nullopt);
}

Promise sync(const Spec& /*spec*/) {
  return {.awaits = Awaits::kWorkers, .staleness_most = 0};
}

Promise dynamic(const Spec& /*spec*/) {
  return {.awaits = Awaits::kAny, .staleness_most = 0};
}

Promise adasync(const Spec& spec) {
  Promise promise{.awaits = Awaits::kAny};
  if (!is_asynchronous(spec)) {
    promise.staleness_most = 0;
  }
  return promise;
}

Promise ssp(const Spec& spec) {
  return {.awaits = Awaits::kOne, .ahead_most = first_option(spec)};
}

Promise dssp(const Spec& spec) {
  SpecReader options("policy", spec);
  (void)options.count("low", std::nullopt);  // First: a lone value is the first that is read.
  return {.awaits = Awaits::kOne, .ahead_most = options.count("high", std::nullopt)};
}

Promise saps(const Spec& spec) {
  Promise promise{.awaits = Awaits::kOne};
  if (weighs_staleness_itself(spec)) {
    return promise;
  }
  SpecReader options("policy", spec);
  const LagBound::Rule bound = LagBound::read(options);
  if (const auto* given = std::get_if<LagBound::Given>(&bound)) {
    promise.staleness_most = given->bound;
  }
  promise.staleness_by_workers = std::holds_alternative<LagBound::ByWorkers>(bound);
  return promise;
}

}  // namespace outpace::policy::promises
