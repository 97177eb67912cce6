// The gradients taken up since the last commit, and their weighted mean.
//
//   mean = sum_k(weight_k * examples_k * gradient_k) / sum_k(examples_k)
//
// gradient_k is the mean over that mini-batch's examples, so unequal mini-batches are right; the
// sum is divided by the examples alone, never by the weights, or a lone stale gradient would not
// shrink. Scale-invariant optimizers (adam, adamw) take the unweighted mean instead and scale their
// step by mean_weight = sum(weight * examples) / sum(examples).
//
// A filter that combines (median, trimmed, krum: robust_mean.h) takes the place of the mean. Then a
// gradient has one vote, whatever its examples, and its weight scales it before the vote.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "update/filter.h"

namespace outpace::update {

enum class Reduce : std::uint8_t {
  kWorkerOrder,  // Keep slots; add up in order of (worker, release): repeatable to the bit.
  kArrival,      // Add into one buffer at once: one buffer's memory, the order of arrival.
};

class Aggregate {
 public:
  // `weighted` is false for scale-invariant optimizers. Buffers hold `size` float32 each. A filter
  // that does not combine changes nothing here; one that does keeps slots, whatever `reduce` is.
  Aggregate(std::size_t size,
            Reduce reduce,
            bool weighted,
            const FilterRule& filter = FilterRule::none());

  struct Accepted {
    WorkerId worker;
    Sequence release;
    double weight;           // Policy's weight times the staleness rule's; finite, >= 0.
    std::uint32_t examples;  // At least 1.
  };
  // Takes the gradient up. Gives back a buffer of the same size that is free to reuse (the one
  // passed in, or an older slot). REQUIRES: gradient.size() == size, every number finite.
  [[nodiscard]] std::vector<float> add(const Accepted& accepted, std::vector<float> gradient);

  [[nodiscard]] std::size_t gradients() const { return gradients_; }
  [[nodiscard]] std::uint64_t examples() const { return examples_; }
  // REQUIRES: gradients() >= 1.
  [[nodiscard]] double mean_weight() const;

  // What mean() is scaled by beside an unweighted mean: 1, or mean_weight().
  [[nodiscard]] double scale_of_mean() const { return weighted_ ? mean_weight() : 1.0; }

  // The weighted mean of what was taken up, or what stands for it. The span is valid until the next
  // call of add, mean or clear. REQUIRES: gradients() >= 1.
  [[nodiscard]] std::span<const float> mean();
  // Forgets what was taken up and keeps the memory.
  void clear();

 private:
  struct Slot {
    Accepted accepted;
    std::vector<float> gradient;
  };

  [[nodiscard]] std::vector<float> keep(const Accepted& accepted, std::vector<float> gradient);
  [[nodiscard]] std::vector<float> add_in(const Accepted& accepted, std::vector<float> gradient);
  [[nodiscard]] std::span<const float> mean_of_slots();
  [[nodiscard]] std::span<const float> robust_mean_of_slots();

  const std::size_t size_;
  const Reduce reduce_;
  const bool weighted_;
  const FilterRule filter_;

  std::size_t gradients_ = 0;
  std::uint64_t examples_ = 0;
  // kArrival: buffer_ = sum(weight * examples * gradient) / divisor_. The divisor is that of the
  // last mean, at first the first gradient's examples, so that a lone gradient is not scaled
  // twice and equal mini-batches are added as they are.
  double divisor_ = 1.0;
  double weighted_examples_ = 0.0;
  // kWorkerOrder: the accepted gradients, sorted by worker, then release; the mean is put in
  // buffer_.
  std::vector<Slot> slots_;
  std::vector<float> factors_;  // The slots'; a field only to keep its memory.
  std::vector<float> buffer_;   // Empty until it is first needed.
  std::vector<std::vector<float>> free_;
};

}  // namespace outpace::update
