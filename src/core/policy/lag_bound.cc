#include "policy/lag_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "base/check.h"
#include "base/median.h"

namespace outpace::policy {
namespace {

constexpr std::uint64_t kGivenMost = 1'000'000;
constexpr double kFactorMost = 100.0;

// The lag that equal workers hardly ever reach: twice their mean.
std::uint64_t of_equal(std::uint32_t workers) {
  return workers > 1 ? 2 * (std::uint64_t{workers} - 1) : 1;
}

}  // namespace

LagBound::Rule LagBound::read(SpecReader& options) {
  const auto found = options.count_or_multiple(
      "s", {.least = 1, .most = kGivenMost, .multiple_least = 1.0, .multiple_most = kFactorMost});
  if (!found) {
    return ByWorkers{};
  }
  if (const auto* factor = std::get_if<double>(&*found)) {
    return ByLag{*factor};
  }
  return Given{std::get<std::uint64_t>(*found)};
}

void LagBound::join(WorkerId worker) {
  workers_.join(worker);
  scratch_.reserve(workers_.live());
  follow_workers();
}

void LagBound::leave(WorkerId worker) {
  workers_.leave(worker);
  follow_workers();
}

void LagBound::answered(WorkerId worker, std::uint64_t lag) {
  const auto* by_lag = std::get_if<ByLag>(&rule_);
  if (by_lag == nullptr) {
    return;
  }
  workers_[worker].lag = lag;
  if (++answers_ >= workers_.live()) {
    answers_ = 0;
    follow_lag(by_lag->factor);
  }
}

void LagBound::follow_workers() {
  const std::uint64_t of_workers = of_equal(workers_.live());
  if (const auto* given = std::get_if<Given>(&rule_)) {
    CHECK(given->bound >= 1);
    bound_ = given->bound;
  } else if (std::holds_alternative<ByWorkers>(rule_) || workers_.live() == 0) {
    bound_ = of_workers;
    answers_ = 0;
  } else {
    // One more worker makes all the others staler before the next median says so.
    bound_ = std::max(bound_, of_workers);
  }
}

void LagBound::follow_lag(double factor) {
  scratch_.clear();
  workers_.for_each([&](WorkerId /*worker*/, const Worker& state) {
    if (state.lag) {
      scratch_.push_back(*state.lag);
    }
  });
  if (2 * scratch_.size() <= workers_.live()) {
    return;  // The median of all is not known yet.
  }
  const double bound = std::ceil(factor * static_cast<double>(upper_median(scratch_)));
  bound_ = static_cast<std::uint64_t>(std::clamp(bound, 1.0, static_cast<double>(kGivenMost)));
}

std::optional<std::string> LagBound::take_warning() {
  const std::uint32_t live = workers_.live();
  if (warned_ || live < planned_ || !std::holds_alternative<Given>(rule_)) {
    return std::nullopt;
  }
  const double share = share_dropped(bound_, live);
  if (share == 0.0) {
    return std::nullopt;
  }
  warned_ = true;
  char text[200];
  std::snprintf(
      text,
      sizeof text,
      "saps: s=%llu drops about %.0f %% of the gradients of %u equal workers, which are %u "
      "versions behind on average; leave s out, or give s=%llu",
      static_cast<unsigned long long>(bound_),
      100.0 * share,
      live,
      live - 1,
      static_cast<unsigned long long>(of_equal(live)));
  return text;
}

double share_dropped(std::uint64_t bound, std::uint32_t workers) {
  const auto counted = static_cast<double>(bound) + 1.0;
  return std::max(0.0, 1.0 - counted / workers);
}

}  // namespace outpace::policy
