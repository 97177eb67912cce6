#include "runtime_model/deep.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace outpace::runtime_model {
namespace {

constexpr float kAnywhere = 1e-3F;  // Share of a forecast that is uniform over the grid.

void copy_column(std::span<const float> from,
                 std::size_t from_workers,
                 std::size_t from_worker,
                 std::size_t to_worker,
                 std::vector<float>& to) {
  const std::size_t rows = from.size() / from_workers;
  const std::size_t to_workers = to.size() / rows;
  for (std::size_t i = 0; i < rows; ++i) {
    to[i * to_workers + to_worker] = from[i * from_workers + from_worker];
  }
}

// Copies one worker's state.
void copy_worker(const DeepNetwork::State& from,
                 std::size_t from_workers,
                 std::size_t from_worker,
                 std::size_t to_worker,
                 DeepNetwork::State& to) {
  copy_column(from.hidden, from_workers, from_worker, to_worker, to.hidden);
  copy_column(from.mean, from_workers, from_worker, to_worker, to.mean);
  copy_column(from.log_sigma, from_workers, from_worker, to_worker, to.log_sigma);
}

}  // namespace

std::vector<float> deep_draws(std::size_t latent) {
  Rng rng(0, 0);
  const std::size_t half = kDeepDraws / 2 * 2 * latent;
  std::vector<float> draws;
  draws.reserve(2 * half);
  for (std::size_t i = 0; i < half; ++i) {
    draws.push_back(static_cast<float>(rng.normal()));
  }
  for (std::size_t i = 0; i < half; ++i) {
    draws.push_back(-draws[i]);
  }
  return draws;
}

Deep::Deep(const DeepWeights& weights)
    : network_(weights), noise_(deep_draws(weights.shape.latent)) {}

void Deep::begin(std::span<const Observation> iteration) {
  workers_ = iteration.size();
  state_ = network_.begin(workers_);
  before_ = state_;
  seen_then_.assign(kDeepFeatures * workers_, 0.0F);
  reference_then_.assign(workers_, 0.0);
  open_.assign(workers_, false);
  lognormals_ = LognormalTable(grid_.now());
}

void Deep::keep(Archive& archive) {
  archive("grid", grid_)("workers", workers_)("features", features_)("ranks", ranks_);
  archive("forecast", forecast_)("state", state_)("before", before_)("seen_then", seen_then_);
  archive("reference_then", reference_then_)("open", open_);
  if (archive.reads() && workers_ > 0) {
    lognormals_ = LognormalTable(grid_.now());
  }
}

void Deep::observe(std::span<const Observation> iteration) {
  grid_.follow(iteration);
  if (workers_ == 0) {
    begin(iteration);
  }
  CHECK(iteration.size() == workers_);
  if (forecast_) {
    ranks_.observe(*forecast_, iteration);
    forecast_.reset();
  }
  features_.take(iteration, taken_);
  DeepNetwork::State moved = state_;
  network_.step(taken_, moved);
  for (std::size_t w = 0; w < workers_; ++w) {
    if (iteration[w].fate == Fate::kBusy) {  // Has not begun a runtime; its state stays.
      copy_worker(state_, workers_, w, w, moved);
      continue;
    }
    open_[w] = iteration[w].fate == Fate::kLonger;
    if (open_[w]) {
      copy_worker(state_, workers_, w, w, before_);
      copy_column(taken_, workers_, w, w, seen_then_);
      reference_then_[w] = features_.reference();
    }
  }
  state_ = std::move(moved);
}

void Deep::correct(std::uint32_t worker, double seconds) {
  if (worker >= open_.size() || !open_[worker]) {
    return;
  }
  DeepNetwork::State one = network_.begin(1);
  copy_worker(before_, workers_, worker, 0, one);
  std::vector<float> seen(kDeepFeatures);
  copy_column(seen_then_, workers_, worker, 0, seen);
  seen[0] = DeepFeatures::relative(seconds, reference_then_[worker]);
  seen[1] = 0.0F;
  network_.step(seen, one);
  copy_worker(one, 1, 0, worker, state_);
  features_.correct(worker, seconds);
  open_[worker] = false;
}

bool Deep::forecast(Forecast& out) {
  if (workers_ == 0) {
    return false;
  }
  const auto workers = static_cast<std::uint32_t>(workers_);
  const std::size_t bins = grid_.now().bins();
  mass_.assign(workers_ * bins, kAnywhere / static_cast<float>(bins));
  for (std::size_t draw = 0; draw < kDeepDraws; ++draw) {
    add_draw(draw);
  }
  out.reset(grid_.now(), workers);
  for (std::uint32_t w = 0; w < workers; ++w) {
    out.set_row(w, std::span<const float>(mass_).subspan(w * bins, bins));
  }
  forecast_ = out;
  out.set_ranks(ranks_.ranks());
  return true;
}

// Adds the lognormals that one draw of every worker's z_t and z_t+1 emits.
void Deep::add_draw(std::size_t draw) {
  const std::size_t latent = network_.shape().latent;
  const float* const noise = noise_.data() + draw * 2 * latent;
  const auto move =
      [&](const std::vector<float>& mean, const std::vector<float>& log_sigma, const float* by) {
        latent_.resize(mean.size());
        for (std::size_t i = 0; i < latent; ++i) {
          for (std::size_t w = 0; w < workers_; ++w) {
            const std::size_t at = i * workers_ + w;
            latent_[at] = mean[at] + by[i] * quick_exp(log_sigma[at]);
          }
        }
      };
  move(state_.mean, state_.log_sigma, noise);
  network_.transition(latent_, next_);
  move(next_.mean, next_.log_sigma, noise + latent);
  network_.emission(latent_, mixture_);
  const std::size_t components = network_.shape().components;
  const double origin =
      (features_.reference() - std::log(grid_.now().edge(0.0))) / grid_.now().step();
  for (std::size_t w = 0; w < workers_; ++w) {
    float most = mixture_.logit[w];
    for (std::size_t m = 1; m < components; ++m) {
      most = std::max(most, mixture_.logit[m * workers_ + w]);
    }
    float sum = 0.0F;
    for (std::size_t m = 0; m < components; ++m) {
      float& logit = mixture_.logit[m * workers_ + w];
      logit = quick_exp(logit - most);
      sum += logit;
    }
    for (std::size_t m = 0; m < components; ++m) {
      const std::size_t at = m * workers_ + w;
      lognormals_.add(origin + mixture_.mean[at] / grid_.now().step(),
                      mixture_.log_sigma[at],
                      mixture_.logit[at] / sum,
                      std::span(mass_).subspan(w * grid_.now().bins(), grid_.now().bins()));
    }
  }
}

}  // namespace outpace::runtime_model
