#include "runtime_model/imputing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr std::uint64_t kImputationSeed = 1;
// Beyond this quantile a forecast only knows the end of its grid.
constexpr double kSurest = 1.0 - 1e-6;

}  // namespace

Imputing::Imputing(std::unique_ptr<RuntimeModel> model, Imputation imputation)
    : model_(std::move(model)), imputation_(imputation), rng_(kImputationSeed, 0) {
  CHECK(imputation == Imputation::kTruncated || imputation == Imputation::kPlain);
}

bool Imputing::forecast(Forecast& out) {
  has_forecast_ = model_->forecast(out);
  if (has_forecast_) {
    foretold_ = out;
  }
  return has_forecast_;
}

std::unique_ptr<RuntimeModel> impute(std::unique_ptr<RuntimeModel> model, Imputation imputation) {
  if (imputation == Imputation::kTruncated || imputation == Imputation::kPlain) {
    return std::make_unique<Imputing>(std::move(model), imputation);
  }
  return model;
}

void Imputing::observe(std::span<const Observation> iteration) {
  complete_.assign(iteration.begin(), iteration.end());
  if (has_forecast_) {
    double rest = rng_.uniform();
    double shift = 0.0;  // One draw for all workers: the shift is common.
    for (const Forecast::Shift& one : foretold_.shifts()) {
      shift = one.bins;
      rest -= one.chance;
      if (rest < 0.0) {
        break;
      }
    }
    for (std::uint32_t w = 0; w < complete_.size(); ++w) {
      if (complete_[w].fate == Fate::kLonger) {
        complete_[w] = {.seconds = draw(w, complete_[w].seconds, shift), .fate = Fate::kArrived};
      }
    }
  }
  has_forecast_ = false;
  model_->observe(complete_);
}

double Imputing::draw(std::uint32_t worker, double given, double shift) {
  const double scale = std::exp(shift * foretold_.grid().step());
  double passed = 0.0;
  if (imputation_ == Imputation::kTruncated) {
    passed = foretold_.cdf(worker, foretold_.grid().position(given / scale));
  }
  const double share = std::max(rng_.uniform(), 1.0 - kSurest);
  const double probability = std::min(passed + share * (1.0 - passed), kSurest);
  const double seconds = scale * foretold_.quantile(worker, probability);
  return imputation_ == Imputation::kTruncated ? std::max(seconds, given) : seconds;
}

}  // namespace outpace::runtime_model
