#include "runtime_model/calibrating.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr double kKeepRanks = 0.99;  // Weight of the past ranks after an iteration.
constexpr double kPriorRanks = 1.0;  // In each part, as if seen.

}  // namespace

Calibrating::Calibrating(std::unique_ptr<RuntimeModel> model) : model_(std::move(model)) {
  counts_.fill(0.0);
  sum_up();
}

void Calibrating::observe(std::span<const Observation> iteration) {
  if (std::exchange(has_forecast_, false) && forecast_.shifts().size() == 1) {
    learn(iteration);
  }
  model_->observe(iteration);
}

void Calibrating::learn(std::span<const Observation> iteration) {
  CHECK(iteration.size() == forecast_.workers());
  for (double& count : counts_) {
    count *= kKeepRanks;
  }
  const double shift = forecast_.shifts().front().bins;
  for (std::uint32_t w = 0; w < iteration.size(); ++w) {
    if (iteration[w].fate == Fate::kBusy) {
      continue;
    }
    const double rank = forecast_.cdf(w, forecast_.grid().position(iteration[w].seconds) - shift);
    if (iteration[w].fate == Fate::kArrived) {
      counts_[std::min(static_cast<std::size_t>(rank * kParts), kParts - 1)] += 1.0;
    } else {
      add_longer(rank);
    }
  }
  sum_up();
}

void Calibrating::add_longer(double rank) {
  const double at = std::min(rank * kParts, kParts - 1e-6);
  const auto part = static_cast<std::size_t>(at);
  const double left = static_cast<double>(part) + 1.0 - at;  // What is left of that part.
  const auto share_of = [&](std::size_t i) { return below_[i + 1] - below_[i]; };
  double sum = left * share_of(part);
  for (std::size_t i = part + 1; i < kParts; ++i) {
    sum += share_of(i);
  }
  counts_[part] += left * share_of(part) / sum;
  for (std::size_t i = part + 1; i < kParts; ++i) {
    counts_[i] += share_of(i) / sum;
  }
}

void Calibrating::sum_up() {
  double sum = 0.0;
  for (const double count : counts_) {
    sum += count + kPriorRanks;
  }
  double below = 0.0;
  for (std::size_t i = 0; i < kParts; ++i) {
    below_[i] = static_cast<float>(below / sum);
    below += counts_[i] + kPriorRanks;
  }
  below_[kParts] = below_[kParts + 1] = 1.0F;
}

float Calibrating::recalibrated(float rank) const {
  const float at = rank * static_cast<float>(kParts);
  const auto part = static_cast<std::size_t>(at);
  return below_[part] + (at - static_cast<float>(part)) * (below_[part + 1] - below_[part]);
}

bool Calibrating::forecast(Forecast& out) {
  has_forecast_ = model_->forecast(out);
  if (!has_forecast_) {
    return false;
  }
  forecast_ = out;
  if (out.shifts().size() == 1) {
    for (std::uint32_t w = 0; w < out.workers(); ++w) {
      for (float& rank : out.row(w)) {
        rank = recalibrated(rank);
      }
    }
  }
  return true;
}

void Calibrating::keep(Archive& archive) {
  archive.group("model", [&] { model_->keep(archive); });
  archive("counts", counts_)("predicted", forecast_)("has_forecast", has_forecast_);
  if (archive.reads()) {
    sum_up();
  }
}

}  // namespace outpace::runtime_model
