#include "update/local_phase.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "update/gradient.h"

namespace outpace::update {

LocalPhase::LocalPhase(Spec optimizer, double weight_decay, std::vector<std::size_t> tensors)
    : spec_(std::move(optimizer)), weight_decay_(weight_decay), tensors_(std::move(tensors)) {
  gradient_.resize(std::accumulate(tensors_.begin(), tensors_.end(), std::size_t{0}));
  begin_optimizer();
}

void LocalPhase::begin_optimizer() {
  optimizer_ = make_optimizer(spec_, gradient_.size(), tensors_);
}

void LocalPhase::keep(Archive& archive) {
  std::string name = spec_.text;
  std::uint64_t numbers = gradient_.size();
  archive("inner_optimizer", name)("numbers", numbers);
  if (name != spec_.text || numbers != gradient_.size()) {
    throw Error(ExitCode::kUnreadable,
                "is of " + name + " and " + std::to_string(numbers) + " weights; the job has " +
                    spec_.text + " and " + std::to_string(gradient_.size()));
  }
  archive.group("optimizer", [&] { optimizer_->keep(archive); });
}

void LocalPhase::begin(std::span<const float> weights) {
  CHECK(weights.size() == gradient_.size());
  weights_.assign(weights.begin(), weights.end());
  loss_sum_ = 0.0;
  examples_ = 0;
}

void LocalPhase::go_on() {
  CHECK(finite_);
  pushed_ = weights_;
  loss_sum_ = 0.0;
  examples_ = 0;
}

void LocalPhase::take_up(std::span<const float> weights) {
  CHECK(weights.size() == gradient_.size() && pushed_.size() == gradient_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    weights_[i] += weights[i] - pushed_[i];
  }
}

void LocalPhase::step(double rate, double loss, std::size_t examples) {
  optimizer_->step(
      {.rate = rate, .mean_weight = 1.0, .weight_decay = weight_decay_}, gradient_, weights_);
  loss_sum_ += loss * static_cast<double>(examples);
  examples_ += examples;
}

void LocalPhase::difference(std::span<const float> released, std::span<float> delta) {
  CHECK(released.size() == weights_.size() && delta.size() == weights_.size());
  for (std::size_t i = 0; i < delta.size(); ++i) {
    delta[i] = released[i] - weights_[i];
  }
  const bool finite = all_finite(delta);
  finite_ = finite && std::isfinite(loss_sum_);
  if (!finite) {
    begin_optimizer();
  }
}

}  // namespace outpace::update
