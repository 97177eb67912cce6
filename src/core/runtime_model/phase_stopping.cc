#include "runtime_model/phase_stopping.h"

#include <algorithm>

namespace outpace::runtime_model {
namespace {

constexpr double kOutlived = 1.0 - 1e-4;
// A worker that outlives its forecast brings less and less: the question is asked again after this
// share of the time so far.
constexpr double kAskAgain = 0.05;

}  // namespace

void PhaseStopping::begin(const Forecast& forecast, double rate) {
  forecast_ = &forecast;
  rate_ = rate;
}

double PhaseStopping::expected(std::uint32_t worker, double seconds) const {
  const double passed = forecast_->cdf(worker, forecast_->grid().position(seconds));
  if (passed >= kOutlived) {
    return 2.0 * seconds;  // One that has outlived its forecast may need as long again.
  }
  return std::max(seconds, forecast_->quantile(worker, 0.5 + 0.5 * passed));
}

PhaseStopping::Outlook PhaseStopping::look(double seconds,
                                           std::span<const std::uint32_t> out) const {
  double gained = 0.0;  // In a second.
  for (const std::uint32_t worker : out) {
    gained += 1.0 / expected(worker, seconds);
  }
  return {.stop = gained < rate_, .again = (1.0 + kAskAgain) * seconds};
}

double PhaseStopping::done(double seconds, std::span<const std::uint32_t> out) const {
  double phases = 0.0;
  for (const std::uint32_t worker : out) {
    phases += seconds / expected(worker, seconds);
  }
  return phases;
}

PhaseStopping::Plan PhaseStopping::plan(std::span<const std::uint32_t> workers) {
  medians_.clear();
  double gained = 0.0;
  for (const std::uint32_t worker : workers) {
    medians_.push_back(forecast_->quantile(worker, 0.5));
    gained += 1.0 / medians_.back();
  }
  std::sort(medians_.begin(), medians_.end());
  Plan plan;
  for (const double median : medians_) {
    plan = {.count = plan.count + 1, .until = median};
    gained -= 1.0 / median;
    if (gained < rate_) {
      break;
    }
  }
  return plan;
}

}  // namespace outpace::runtime_model
