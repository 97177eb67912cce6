#include "runtime_model/deep_joint.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "runtime_model/draws.h"

namespace outpace::runtime_model {
namespace {

constexpr float kFarthestJoint = 8.0F;    // Features are clamped to this, in deviations.
constexpr float kAnywhereJoint = 1e-3F;   // Share of a row that is uniform over the grid.
constexpr float kLeastJointRank = 1e-4F;  // Ranks are within [this, 1 - this].
constexpr std::uint32_t kFewestDraws = 128;

// Normal numbers; the second half of the draws mirrors the first (antithetic).
std::vector<float> noise_of(std::size_t draws, std::size_t each) {
  Rng rng(0, 0);
  std::vector<float> noise;
  noise.reserve(draws * each);
  for (std::size_t i = 0; i < draws / 2 * each; ++i) {
    noise.push_back(static_cast<float>(rng.normal()));
  }
  for (std::size_t i = 0; i < draws / 2 * each; ++i) {
    noise.push_back(-noise[i]);
  }
  return noise;
}

}  // namespace

void joint_features(std::span<const Observation> iteration,
                    const DeepWeights& unit,
                    std::span<const float> before,
                    std::vector<float>& out) {
  const std::size_t workers = iteration.size();
  out.assign(2 * workers, 0.0F);
  for (std::size_t w = 0; w < workers; ++w) {
    const Observation& seen = iteration[w];
    if (seen.fate == Fate::kBusy) {
      out[w] = before.empty() ? 0.0F : before[w];
    } else {
      out[w] = std::clamp(static_cast<float>((std::log(seen.seconds) - unit.mean) / unit.deviation),
                          -kFarthestJoint,
                          kFarthestJoint);
    }
    out[workers + w] = seen.fate == Fate::kArrived ? 0.0F : 1.0F;
  }
}

DeepJoint::DeepJoint(const DeepWeights& weights)
    : unit_{.shape = weights.shape,
            .numbers = {},
            .mean = weights.mean,
            .deviation = weights.deviation},
      network_(weights),
      draws_(std::max(draws_for(weights.shape.workers), kFewestDraws)),
      noise_(noise_of(draws_, 2 * weights.shape.latent + weights.shape.workers)) {
  CHECK(is_joint(weights.shape));
}

void DeepJoint::observe(std::span<const Observation> iteration) {
  CHECK(iteration.size() == unit_.shape.workers);
  grid_.follow(iteration);
  if (window_.empty()) {
    lognormals_ = LognormalTable(grid_.now());
  }
  window_.emplace_back(iteration.begin(), iteration.end());
  if (window_.size() > kJointWindow) {
    window_.pop_front();
  }
}

void DeepJoint::correct(std::uint32_t worker, double seconds) {
  for (auto row = window_.rbegin(); row != window_.rend(); ++row) {
    Observation& seen = row->at(worker);
    if (seen.fate == Fate::kLonger) {
      seen = {.seconds = seconds, .fate = Fate::kArrived};
    }
    if (seen.fate != Fate::kBusy) {
      return;
    }
  }
}

void DeepJoint::keep(Archive& archive) {
  archive("grid", grid_)("window", window_);
  for (const std::vector<Observation>& row : window_) {
    if (row.size() != unit_.shape.workers) {
      throw Error(ExitCode::kUnreadable,
                  "the window of deep-joint has an iteration of another number of workers");
    }
  }
  if (archive.reads() && !window_.empty()) {
    lognormals_ = LognormalTable(grid_.now());
  }
}

void DeepJoint::infer() {
  state_ = network_.begin(1);
  before_.clear();
  for (const std::vector<Observation>& row : window_) {
    joint_features(row, unit_, before_, taken_);
    network_.step(taken_, state_);
    std::swap(before_, taken_);
  }
}

bool DeepJoint::forecast(Forecast& out) {
  if (window_.empty()) {
    return false;
  }
  const std::uint32_t workers = unit_.shape.workers;
  const std::size_t bins = grid_.now().bins();
  infer();
  mass_.assign(workers * bins, kAnywhereJoint / static_cast<float>(bins));
  drawn_.resize(draws_ * workers);
  draw();
  out.reset(grid_.now(), workers);
  for (std::uint32_t w = 0; w < workers; ++w) {
    out.set_row(w, std::span<const float>(mass_).subspan(w * bins, bins));
    for (std::size_t draw = 0; draw < draws_; ++draw) {
      float& one = drawn_[draw * workers + w];
      one =
          std::clamp(static_cast<float>(out.cdf(w, one)), kLeastJointRank, 1.0F - kLeastJointRank);
    }
  }
  out.set_ranks(drawn_);
  return true;
}

// Each draw is a column of the networks.
void DeepJoint::draw() {
  const std::size_t latent = unit_.shape.latent;
  const std::size_t workers = unit_.shape.workers;
  const std::size_t each = 2 * latent + workers;  // Numbers of noise.
  latent_.resize(latent * draws_);
  for (std::size_t i = 0; i < latent; ++i) {
    for (std::size_t k = 0; k < draws_; ++k) {
      latent_[i * draws_ + k] =
          state_.mean[i] + noise_[k * each + i] * quick_exp(state_.log_sigma[i]);
    }
  }
  network_.transition(latent_, next_);
  for (std::size_t i = 0; i < latent; ++i) {
    for (std::size_t k = 0; k < draws_; ++k) {
      const std::size_t at = i * draws_ + k;
      latent_[at] = next_.mean[at] + noise_[k * each + latent + i] * quick_exp(next_.log_sigma[at]);
    }
  }
  network_.emission(latent_, mixture_);
  const double step = grid_.now().step();
  const double origin = (unit_.mean - std::log(grid_.now().edge(0.0))) / step;
  const auto log_deviation = static_cast<float>(std::log(unit_.deviation));
  for (std::size_t w = 0; w < workers; ++w) {
    const std::span<float> row =
        std::span(mass_).subspan(w * grid_.now().bins(), grid_.now().bins());
    for (std::size_t k = 0; k < draws_; ++k) {
      const double mean = origin + unit_.deviation * mixture_.mean[w * draws_ + k] / step;
      const float log_sigma = mixture_.log_sigma[w * draws_ + k] + log_deviation;
      lognormals_.add(mean, log_sigma, 1.0F / static_cast<float>(draws_), row);
      const double drawn = mean + noise_[k * each + 2 * latent + w] * quick_exp(log_sigma) / step;
      // Garbage weights may give no number; the row then is without this draw.
      drawn_[k * workers + w] = std::isfinite(drawn) ? static_cast<float>(drawn) : 0.0F;
    }
  }
}

}  // namespace outpace::runtime_model
