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
    forecast_ = out;
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
    const double scale = draw_scale();
    collect_cut_off(scale);
    const std::span<const float> row = draw_row();
    for (const CutOff& one : cut_off_) {
      const double seconds = scale * forecast_.quantile(one.worker, draw_probability(one, row));
      complete_[one.worker] = {
          .seconds = imputation_ == Imputation::kTruncated ? std::max(seconds, one.given) : seconds,
          .fate = Fate::kArrived};
    }
  }
  has_forecast_ = false;
  model_->observe(complete_);
}

// The common shift is one for all workers.
double Imputing::draw_scale() {
  double rest = rng_.uniform();
  double bins = 0.0;
  for (const Forecast::Shift& one : forecast_.shifts()) {
    bins = one.bins;
    rest -= one.chance;
    if (rest < 0.0) {
      break;
    }
  }
  return std::exp(bins * forecast_.grid().step());
}

void Imputing::collect_cut_off(double scale) {
  cut_off_.clear();
  for (std::uint32_t w = 0; w < complete_.size(); ++w) {
    if (complete_[w].fate == Fate::kLonger) {
      const double given = complete_[w].seconds;
      const double passed = imputation_ == Imputation::kTruncated
                                ? forecast_.cdf(w, forecast_.grid().position(given / scale))
                                : 0.0;
      cut_off_.push_back({.worker = w, .given = given, .passed = passed});
    }
  }
}

// The ranks of a joint draw, of those in which the most workers are longer than what they were
// given; empty if the forecast has none.
std::span<const float> Imputing::draw_row() {
  const std::span<const float> ranks = forecast_.ranks();
  if (ranks.empty() || cut_off_.empty()) {
    return {};
  }
  const std::size_t workers = forecast_.workers();
  best_rows_.clear();
  std::ptrdiff_t most = 0;
  for (std::size_t from = 0; from < ranks.size(); from += workers) {
    const std::ptrdiff_t longer = std::ranges::count_if(
        cut_off_, [&](const CutOff& one) { return ranks[from + one.worker] > one.passed; });
    if (longer > most) {
      best_rows_.clear();
      most = longer;
    }
    if (longer == most) {
      best_rows_.push_back(from);
    }
  }
  return ranks.subspan(best_rows_[rng_.below(best_rows_.size())], workers);
}

double Imputing::draw_probability(const CutOff& one, std::span<const float> row) {
  if (!row.empty() && row[one.worker] > one.passed) {
    return std::min(static_cast<double>(row[one.worker]), kSurest);
  }
  const double share = std::max(rng_.uniform(), 1.0 - kSurest);
  return std::min(one.passed + share * (1.0 - one.passed), kSurest);
}

}  // namespace outpace::runtime_model
