#include "runtime_model/stopping.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/median.h"

namespace outpace::runtime_model {
namespace {

// Share of the time by which half are expected, or of the time that has passed.
constexpr double kTick = 0.01;
constexpr double kLongest = 8.0;
constexpr double kUnlikely = 1e-3;
// Least probability that a worker is still computing, where it is divided by.
constexpr double kNegligible = 1e-4;
constexpr std::size_t kSampled = 256;  // Workers that stand for all.

}  // namespace

void Stopping::begin(const Forecast& forecast,
                     std::span<const std::uint32_t> workers,
                     double rate,
                     const Worth& worth) {
  forecast_ = &forecast;
  rate_ = rate;
  worth_ = worth;
  const TimeGrid& grid = forecast.grid();
  if (edges_.size() != grid.bins() + 1U || edges_.front() != grid.edge(0)) {
    edges_.resize(grid.bins() + 1U);
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      edges_[i] = grid.edge(static_cast<double>(i));
    }
  }
  medians_.assign(forecast.workers(), 0.0);
  in_order_.clear();
  for (const std::uint32_t w : workers) {
    medians_[w] = forecast.quantile(w, 0.5);
    in_order_.push_back(medians_[w]);
  }
  shifts_.clear();
  for (const Forecast::Shift& shift : forecast.shifts()) {
    shifts_.push_back(
        {.bins = shift.bins, .log_chance = std::log(shift.chance), .chance = shift.chance});
  }
  tick_ = kTick * upper_median(in_order_) * std::exp(shifts_.front().bins * grid.step());
  waited_for_.assign(workers.begin(), workers.end());
}

void Stopping::take_in_arrivals(double seconds, std::span<const std::uint32_t> out) {
  if (shifts_.size() == 1 || out.size() == waited_for_.size()) {
    return;
  }
  is_out_.assign(forecast_->workers(), false);
  for (const std::uint32_t w : out) {
    is_out_[w] = true;
  }
  came_.clear();
  std::copy_if(waited_for_.begin(), waited_for_.end(), std::back_inserter(came_), [&](auto w) {
    return !is_out_[w];
  });
  const double now = forecast_->grid().position(seconds);
  const Sample came = sample(came_);
  for (const std::uint32_t w : came.workers) {
    for (Likely& shift : shifts_) {
      shift.log_chance += came.weight * forecast_->log_density(w, now - shift.bins);
    }
  }
  waited_for_.assign(out.begin(), out.end());
}

Stopping::Sample Stopping::sample(std::span<const std::uint32_t> all) {
  if (all.size() <= kSampled) {
    return {.workers = all};
  }
  sorted_.assign(all.begin(), all.end());
  std::sort(sorted_.begin(), sorted_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return medians_[a] != medians_[b] ? medians_[a] < medians_[b] : a < b;
  });
  sampled_.clear();
  for (std::size_t i = 0; i < kSampled; ++i) {  // The midpoints of equal parts.
    sampled_.push_back(sorted_[(2 * i + 1) * sorted_.size() / (2 * kSampled)]);
  }
  return {.workers = sampled_,
          .weight = static_cast<double>(all.size()) / static_cast<double>(kSampled)};
}

void Stopping::weigh(double seconds, const Sample& out) {
  if (shifts_.size() == 1) {
    return;
  }
  const double now = forecast_->grid().position(seconds);
  double most = -std::numeric_limits<double>::infinity();
  for (Likely& shift : shifts_) {
    shift.chance = shift.log_chance;
    for (const std::uint32_t w : out.workers) {
      shift.chance += out.weight * forecast_->log_survival(w, now - shift.bins);
    }
    most = std::max(most, shift.chance);
  }
  double sum = 0.0;
  for (Likely& shift : shifts_) {
    shift.chance = std::exp(shift.chance - most);
    sum += shift.chance;
  }
  for (Likely& shift : shifts_) {
    shift.chance /= sum;
  }
}

Stopping::Outlook Stopping::look(double seconds,
                                 std::uint32_t arrived,
                                 std::span<const std::uint32_t> all_out) {
  take_in_arrivals(seconds, all_out);
  const Sample out = sample(all_out);
  weigh(seconds, out);
  const TimeGrid& grid = forecast_->grid();
  // The longer the wait, the rarer the looks: what is still to come is spread out.
  const double tick = std::max(tick_, kTick * seconds);
  const double now = grid.position(seconds);
  const double soon = grid.position(seconds + tick);
  double arriving = 0.0;
  for (const Likely& shift : shifts_) {
    if (shift.chance < kUnlikely) {
      continue;
    }
    for (const std::uint32_t w : out.workers) {
      const double by_now = forecast_->cdf(w, now - shift.bins);
      const double left = std::max(1.0 - by_now, kNegligible);
      arriving +=
          out.weight * shift.chance * (forecast_->cdf(w, soon - shift.bins) - by_now) / left;
    }
  }
  if (worth_.gain(arrived, arriving) > rate_ * tick) {
    return {.stop = false, .again = seconds + tick};
  }
  return {.stop = best_plan_of(seconds, arrived, out, 0.0).gain <= 0.0, .again = seconds + tick};
}

Stopping::Plan Stopping::best_plan(double seconds,
                                   std::uint32_t arrived,
                                   std::span<const std::uint32_t> out,
                                   double at_least) {
  return best_plan_of(seconds, arrived, sample(out), at_least);
}

Stopping::Plan Stopping::best_plan_of(double seconds,
                                      std::uint32_t arrived,
                                      const Sample& out,
                                      double at_least) {
  const TimeGrid& grid = forecast_->grid();
  const double now = grid.position(seconds);
  const auto first = static_cast<std::size_t>(now) + 1;
  // Waiting longer costs many times what all arrivals could bring, unless they almost surely come
  // earlier.
  const double all = out.weight * static_cast<double>(out.workers.size());
  const double most = std::max(worth_.gain(arrived, all), 0.0);
  const double longest = seconds + kLongest * most / rate_;
  const auto last = std::min(static_cast<std::size_t>(grid.position(longest)) + 2, edges_.size());
  arrivals_.assign(edges_.size(), 0.0F);
  all_.assign(edges_.size(), 0.0F);
  for (const Likely& shift : shifts_) {
    if (shift.chance < kUnlikely) {
      continue;
    }
    all_of_one_.assign(edges_.size(), static_cast<float>(shift.chance));
    for (const std::uint32_t w : out.workers) {
      const auto by_now = static_cast<float>(forecast_->cdf(w, now - shift.bins));
      const float scale = 1.0F / std::max(1.0F - by_now, static_cast<float>(kNegligible));
      const float chance = scale * static_cast<float>(out.weight * shift.chance);
      const std::span<const float> row = forecast_->row(w);
      const auto moved = static_cast<std::ptrdiff_t>(std::lround(shift.bins));
      const auto end = static_cast<std::ptrdiff_t>(row.size()) - 1;
      for (std::size_t i = first; i < last; ++i) {
        const auto at = std::clamp(static_cast<std::ptrdiff_t>(i) - moved, std::ptrdiff_t{0}, end);
        const float came = std::max(row[static_cast<std::size_t>(at)] - by_now, 0.0F);
        arrivals_[i] += chance * came;
        all_of_one_[i] *= scale * came;
      }
    }
    for (std::size_t i = first; i < last; ++i) {
      const auto chance = static_cast<float>(shift.chance);
      all_[i] += out.weight == 1.0
                     ? all_of_one_[i]
                     : chance * std::pow(all_of_one_[i] / chance, static_cast<float>(out.weight));
    }
  }
  Plan best{.gain = -std::numeric_limits<double>::infinity(), .arrivals = 0.0, .until = seconds};
  double waiting = 0.0;
  double before = seconds;
  float all_before = 0.0F;
  for (std::size_t i = first; i < last; ++i) {
    waiting += (edges_[i] - before) * (1.0 - 0.5 * (all_before + all_[i]));
    before = edges_[i];
    all_before = all_[i];
    // The worth of the expected number. It is slightly above the expected worth, because each
    // further gradient adds less.
    const double gain = worth_.gain(arrived, arrivals_[i]) - rate_ * waiting;
    if (gain > best.gain && arrivals_[i] >= at_least) {
      best = {.gain = gain, .arrivals = arrivals_[i], .until = edges_[i]};
    }
  }
  return best;
}

}  // namespace outpace::runtime_model
