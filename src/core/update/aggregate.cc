#include "update/aggregate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "update/robust_mean.h"

namespace outpace::update {
namespace {

void scale(std::span<float> values, float factor) {
  if (factor == 1.0F) {
    return;  // The usual case of a fresh gradient: the pass would change nothing.
  }
  for (float& value : values) {
    value *= factor;
  }
}

void set_scaled(std::span<float> sum, std::span<const float> values, float factor) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = factor * values[i];
  }
}

void add_scaled(std::span<float> sum, std::span<const float> values, float factor) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += factor * values[i];
  }
}

}  // namespace

Aggregate::Aggregate(std::size_t size, Reduce reduce, bool weighted, const FilterRule& filter)
    : size_(size),
      reduce_(filter.combines() ? Reduce::kWorkerOrder : reduce),
      weighted_(weighted),
      filter_(filter) {}

std::vector<float> Aggregate::add(const Accepted& accepted, std::vector<float> gradient) {
  CHECK(gradient.size() == size_);
  CHECK(std::isfinite(accepted.weight) && accepted.weight >= 0.0);
  CHECK(accepted.examples >= 1);
  ++gradients_;
  examples_ += accepted.examples;
  return reduce_ == Reduce::kWorkerOrder ? keep(accepted, std::move(gradient))
                                         : add_in(accepted, std::move(gradient));
}

std::vector<float> Aggregate::keep(const Accepted& accepted, std::vector<float> gradient) {
  if (filter_.combines() && weighted_) {
    scale(gradient, static_cast<float>(accepted.weight));
  }
  const auto place = std::upper_bound(
      slots_.begin(), slots_.end(), accepted, [](const Accepted& a, const Slot& slot) {
        const Accepted& b = slot.accepted;
        return std::pair(a.worker, a.release) < std::pair(b.worker, b.release);
      });
  slots_.insert(place, Slot{.accepted = accepted, .gradient = std::move(gradient)});
  if (free_.empty()) {
    return std::vector<float>(size_);
  }
  std::vector<float> spare = std::move(free_.back());
  free_.pop_back();
  return spare;
}

std::vector<float> Aggregate::add_in(const Accepted& accepted, std::vector<float> gradient) {
  const double examples = accepted.examples;
  const double weight = weighted_ ? accepted.weight : 1.0;
  weighted_examples_ += accepted.weight * examples;
  if (gradients_ > 1) {
    add_scaled(buffer_, gradient, static_cast<float>(weight * examples / divisor_));
    return gradient;
  }
  divisor_ = examples;
  std::swap(buffer_, gradient);
  scale(buffer_, static_cast<float>(weight));
  gradient.resize(size_);  // The old buffer, which is empty the first time.
  return gradient;
}

double Aggregate::mean_weight() const {
  CHECK(gradients_ >= 1);
  double sum = weighted_examples_;
  for (const Slot& slot : slots_) {  // In the slots' order, or the sum would show that of arrival.
    sum += slot.accepted.weight * slot.accepted.examples;
  }
  return sum / static_cast<double>(examples_);
}

std::span<const float> Aggregate::mean() {
  CHECK(gradients_ >= 1);
  if (reduce_ == Reduce::kWorkerOrder) {
    return filter_.combines() ? robust_mean_of_slots() : mean_of_slots();
  }
  const auto divisor = static_cast<double>(examples_);
  scale(buffer_, static_cast<float>(divisor_ / divisor));
  divisor_ = divisor;
  return buffer_;
}

std::span<const float> Aggregate::mean_of_slots() {
  factors_.clear();
  for (const Slot& slot : slots_) {
    const double weight = weighted_ ? slot.accepted.weight : 1.0;
    factors_.push_back(
        static_cast<float>(weight * slot.accepted.examples / static_cast<double>(examples_)));
  }
  if (slots_.size() == 1 && factors_[0] == 1.0F) {
    return slots_[0].gradient;
  }
  buffer_.resize(size_);
  // Block by block, so that the part of the sum in work stays in the cache. Each number is still
  // added up in the order of the slots.
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < size_; begin += kBlock) {
    const std::size_t length = std::min(kBlock, size_ - begin);
    const std::span<float> sum = std::span(buffer_).subspan(begin, length);
    set_scaled(sum, std::span(slots_[0].gradient).subspan(begin, length), factors_[0]);
    for (std::size_t k = 1; k < slots_.size(); ++k) {
      add_scaled(sum, std::span(slots_[k].gradient).subspan(begin, length), factors_[k]);
    }
  }
  return buffer_;
}

std::span<const float> Aggregate::robust_mean_of_slots() {
  std::vector<std::span<const float>> gradients;
  gradients.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    gradients.emplace_back(slot.gradient);
  }
  buffer_.resize(size_);
  robust_mean(filter_, gradients, buffer_);
  return buffer_;
}

void Aggregate::clear() {
  for (Slot& slot : slots_) {
    free_.push_back(std::move(slot.gradient));
  }
  slots_.clear();
  gradients_ = 0;
  examples_ = 0;
  divisor_ = 1.0;
  weighted_examples_ = 0.0;
}

}  // namespace outpace::update
