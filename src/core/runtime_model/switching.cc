#include "runtime_model/switching.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr double kKeepCount = 0.999;    // Weight of the past counts after an iteration.
constexpr double kPriorJump = 0.01;     // Prior probability of a jump,
constexpr double kPriorDrift = 0.02;    // and of a drift.
constexpr double kPriorSteps = 500.0;   // Weight of these priors, in steps.
constexpr double kOwnTarget = 0.5;      // Share of jumps back to where the worker has been,
constexpr double kPooledTarget = 0.45;  // and to where others jumped to; the rest go anywhere, as
constexpr double kPriorTargets = 1.0;   // do these targets before any are seen: the farther, in log
constexpr double kAnywhereRate = 1.0;   // units, the rarer, so that few such jumps weigh little.
constexpr float kNothing = 1e-6F;       // A smaller posterior probability teaches nothing.
// A level whose probability is smaller counts as a point; outliers are added around the likeliest
// level only.
constexpr float kPointed = 1e-4F;

// What was at place i + by is now at place i; what is beyond an end stays at it.
void move_down(int by, std::span<float> values, std::vector<float>& scratch) {
  scratch.assign(values.size(), 0.0F);
  const int last = static_cast<int>(values.size()) - 1;
  for (int i = 0; i <= last; ++i) {
    scratch[static_cast<std::size_t>(std::clamp(i - by, 0, last))] +=
        values[static_cast<std::size_t>(i)];
  }
  std::copy(scratch.begin(), scratch.end(), values.begin());
}

}  // namespace

void Switching::begin(std::span<const Observation> iteration) {
  levels_ = grid_.now().bins() / kSpacing;
  workers_.assign(iteration.size(), {});
  posterior_.assign(levels_ * workers_.size(), 1.0F / static_cast<float>(levels_));
  before_ = posterior_;
  occupied_.assign(levels_ * workers_.size(), 0.0F);
  jumps_.assign(levels_, 0.0F);
  emission_ = Emission(grid_.now().step(), kSpacing);
  steps_ = kPriorSteps;
  jumped_count_ = kPriorJump * kPriorSteps;
  drifted_count_ = kPriorDrift * kPriorSteps;
  make_room();
}

void Switching::make_room() {
  for (std::vector<float>* part : {&stayed_part_,
                                   &drifted_part_,
                                   &jumped_part_,
                                   &anywhere_,
                                   &likelihood_.core,
                                   &likelihood_.outlier}) {
    part->assign(levels_, 0.0F);
  }
}

void Switching::move_levels(int by) {
  if (by == 0) {
    return;
  }
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    for (std::vector<float>* of : {&posterior_, &before_, &occupied_}) {
      move_down(by, row(*of, w), mass_);
    }
  }
  move_down(by, jumps_, mass_);
}

void Switching::keep(Archive& archive) {
  archive("grid", grid_)("levels", levels_)("workers", workers_)("posterior", posterior_);
  archive("before", before_)("occupied", occupied_)("jumps", jumps_)("emission", emission_);
  archive("cluster_shift", cluster_shift_)("forecast", forecast_)("shift", shift_);
  archive("steps", steps_)("jumped", jumped_count_)("drifted", drifted_count_);
  make_room();
}

void Switching::predict(std::uint32_t worker, std::span<const float> from) {
  const double jump = jumped_count_ / steps_;
  const double drift = drifted_count_ / steps_;
  const auto stay = static_cast<float>(1.0 - jump - drift);
  const auto half = static_cast<float>(drift / 2.0);
  const std::span<const float> own = row(occupied_, worker);
  double own_sum = 0.0;
  double jumps_sum = 0.0;
  for (std::size_t l = 0; l < levels_; ++l) {
    own_sum += own[l];
    jumps_sum += jumps_[l];
  }
  spread_anywhere(from);
  const auto to_own = static_cast<float>(jump * kOwnTarget / (own_sum + kPriorTargets));
  const auto to_pooled = static_cast<float>(jump * kPooledTarget / (jumps_sum + kPriorTargets));
  const auto anywhere = static_cast<float>(jump * (1.0 - kOwnTarget - kPooledTarget)) +
                        static_cast<float>(kPriorTargets) * (to_own + to_pooled);
  for (std::size_t l = 0; l < levels_; ++l) {
    stayed_part_[l] = stay * from[l];
    jumped_part_[l] = to_own * own[l] + to_pooled * jumps_[l] + anywhere * anywhere_[l];
    drifted_part_[l] = 0.0F;
  }
  for (std::size_t l = 0; l < levels_; ++l) {
    drifted_part_[l == 0 ? 0 : l - 1] += half * from[l];
    drifted_part_[l + 1 == levels_ ? l : l + 1] += half * from[l];
  }
}

// The convolution with a two-sided exponential, by a pass from either end.
void Switching::spread_anywhere(std::span<const float> from) {
  const auto keep = static_cast<float>(std::exp(-kAnywhereRate * kSpacing * grid_.now().step()));
  float below = 0.0F;
  float sum = 0.0F;
  for (std::size_t l = 0; l < levels_; ++l) {
    below = keep * below + from[l];
    anywhere_[l] = below;
  }
  float above = 0.0F;
  for (std::size_t l = levels_; l-- > 0;) {
    anywhere_[l] += above;
    above = keep * (above + from[l]);
    sum += anywhere_[l];
  }
  const float scale = 1.0F / sum;  // Some would be beyond the ends.
  for (float& value : anywhere_) {
    value *= scale;
  }
}

void Switching::pass_unseen(std::uint32_t worker) {
  const std::span<float> posterior = row(posterior_, worker);
  predict(worker, posterior);
  for (std::size_t l = 0; l < levels_; ++l) {
    posterior[l] = prior(l);
  }
}

Switching::Evidence Switching::update(std::span<float> to) {
  float stayed = 0.0F;
  float drifted = 0.0F;
  float jumped = 0.0F;
  for (std::size_t l = 0; l < levels_; ++l) {
    const float likelihood = likelihood_.core[l] + likelihood_.outlier[l];
    stayed += stayed_part_[l] * likelihood;
    drifted += drifted_part_[l] * likelihood;
    jumped += jumped_part_[l] * likelihood;
    to[l] = prior(l) * likelihood;
  }
  const double sum = double{stayed} + drifted + jumped;
  if (!(sum > 1e-30)) {  // Nothing explains the observation: start again from the jump targets.
    std::copy(jumped_part_.begin(), jumped_part_.end(), to.begin());
    return {.jumped = 1.0, .drifted = 0.0};
  }
  const auto scale = static_cast<float>(1.0 / sum);
  for (float& value : to) {
    value *= scale;
  }
  return {.jumped = jumped / sum, .drifted = drifted / sum};
}

void Switching::observe(std::span<const Observation> iteration) {
  const int moved = grid_.follow(iteration);
  if (workers_.empty()) {
    begin(iteration);
  }
  CHECK(iteration.size() == workers_.size());
  move_levels(moved / kSpacing);
  shift_ = forecast_.workers() == 0 ? 0.0 : cluster_shift_.observe(forecast_, iteration);
  age();
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const Observation& seen = iteration[w];
    const std::span<float> posterior = row(posterior_, w);
    if (seen.fate == Fate::kBusy) {
      pass_unseen(w);
      workers_[w].iterations_since += workers_[w].iterations_since > 0 ? 1U : 0U;
      continue;
    }
    predict(w, posterior);
    const double at = grid_.now().position(seen.seconds) - shift_;
    if (seen.fate == Fate::kArrived) {
      emission_.density(workers_[w].spread, at, likelihood_);
    } else {
      emission_.survival(workers_[w].spread, at, likelihood_);
    }
    if (seen.fate == Fate::kLonger) {
      std::copy(posterior.begin(), posterior.end(), row(before_, w).begin());
      workers_[w].iterations_since = 1;
      workers_[w].shift = shift_;
    } else {
      workers_[w].iterations_since = 0;
    }
    const Evidence evidence = update(posterior);
    learn(w, seen.fate, at, evidence, posterior);
  }
  emission_.refresh();
}

void Switching::learn(std::uint32_t worker,
                      Fate fate,
                      double at,
                      const Evidence& evidence,
                      std::span<const float> posterior) {
  steps_ += 1.0;
  jumped_count_ += evidence.jumped;
  drifted_count_ += evidence.drifted;
  const std::span<float> own = row(occupied_, worker);
  for (std::size_t l = 0; l < levels_; ++l) {
    own[l] += posterior[l];
    if (posterior[l] < kNothing) {
      continue;
    }
    jumps_[l] += posterior[l] * jumped_part_[l] / prior(l);
    const float likelihood = likelihood_.core[l] + likelihood_.outlier[l];
    if (fate == Fate::kArrived && likelihood > 0.0F) {  // It is 0 where the filter started again.
      const double share = posterior[l] / likelihood;
      emission_.learn(workers_[worker].spread,
                      at - static_cast<double>(l) * kSpacing,
                      share * likelihood_.core[l],
                      share * likelihood_.outlier[l]);
    }
  }
}

void Switching::correct(std::uint32_t worker, double seconds) {
  const std::uint32_t since = workers_[worker].iterations_since;
  if (since == 0) {
    return;
  }
  const std::span<float> before = row(before_, worker);
  const std::span<float> posterior = row(posterior_, worker);
  predict(worker, before);
  const double at = grid_.now().position(seconds) - workers_[worker].shift;
  emission_.density(workers_[worker].spread, at, likelihood_);
  const Evidence evidence = update(posterior);
  learn(worker, Fate::kArrived, at, evidence, posterior);
  for (std::uint32_t i = 1; i < since; ++i) {
    pass_unseen(worker);
  }
  workers_[worker].iterations_since = 0;
}

void Switching::age() {
  const auto keep = static_cast<float>(kKeepCount);
  steps_ = kPriorSteps + kKeepCount * (steps_ - kPriorSteps);
  jumped_count_ =
      kPriorJump * kPriorSteps + kKeepCount * (jumped_count_ - kPriorJump * kPriorSteps);
  drifted_count_ =
      kPriorDrift * kPriorSteps + kKeepCount * (drifted_count_ - kPriorDrift * kPriorSteps);
  for (float& value : occupied_) {
    value *= keep;
  }
  for (float& value : jumps_) {
    value *= keep;
  }
  emission_.age(kKeepCount);
  for (Worker& worker : workers_) {
    Emission::age(worker.spread, kKeepCount);
  }
}

bool Switching::forecast(Forecast& out) {
  if (workers_.empty()) {
    return false;
  }
  const auto workers = static_cast<std::uint32_t>(workers_.size());
  out.reset(grid_.now(), workers);
  for (std::uint32_t w = 0; w < workers; ++w) {
    mass_.assign(grid_.now().bins(), 0.0F);
    predict(w, row(posterior_, w));
    std::size_t likeliest = 0;
    float most = 0.0F;
    for (std::size_t l = 0; l < levels_; ++l) {
      const float weight = prior(l);
      if (weight > most) {
        most = weight;
        likeliest = l;
      }
      if (weight > kPointed) {
        emission_.add_core(workers_[w].spread, l, weight, mass_);
      } else {
        mass_[l * kSpacing] += weight;
      }
    }
    emission_.add_outliers(likeliest, 1.0, mass_);
    out.set_row(w, mass_);
  }
  out.set_shifts(cluster_shift_.forecast());
  forecast_ = out;
  return true;
}

}  // namespace outpace::runtime_model
