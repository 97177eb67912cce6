// DynSGD: the gradients of one clock count together as their mean, each from when it comes.
//
//   of the d-th gradient g of clock v:   delta = (g - U_v) / d,   U_v += delta,   g <- delta
//
// Jiang, Cui, Zhang, Yu, "Heterogeneity-aware Distributed Parameter Servers", SIGMOD 2017, the
// version-based rule. The first gradient of a clock counts in full, the d-th counts 1 / d. The
// deltas of an update are added up, so a clock moves the weights by one mean gradient under any
// policy. For gradients that come together it is the mean itself. With unequal mini-batches d
// counts examples: delta = (g - U_v) * n / (examples of v up to and with this one).

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "update/correction.h"

namespace outpace::update {

// The clock of a release is the newest one, and the first gradient of the newest clock begins the
// next. While all workers are in step, a clock counts a worker's own iterations, as in the paper. A
// worker that falls behind or comes late joins the clock of the others.
//
// State: U of each clock that some release has yet to answer; at most one for each worker.
class DynSgd final : public Correction {
 public:
  explicit DynSgd(std::size_t size) : size_(size) {}

  void released(WorkerId worker, const SharedWeights& weights) override;
  void correct(const Corrected& of,
               std::span<float> gradient,
               std::span<const float> weights) override;
  void stepped(std::span<const float> /*before*/, std::span<const float> /*after*/) override {
    begun_ = 0;
  }
  void forget(WorkerId worker) override;
  void keep(Archive& archive) override { archive("newest", newest_); }
  // A clock's weight decay comes with its first gradient: that of the others is in U.
  [[nodiscard]] std::optional<double> added_up() const override {
    return static_cast<double>(begun_);
  }

 private:
  struct Clock {
    std::uint32_t open = 0;      // Releases that are not answered.
    std::uint64_t examples = 0;  // Examples of its gradients so far.
    std::vector<float> mean;     // U; empty before the first.
  };

  // One release of the clock is over; the last one frees it.
  void close(std::uint64_t clock);

  const std::size_t size_;
  std::uint64_t newest_ = 0;
  std::uint64_t begun_ = 0;                         // Clocks, since the last step.
  std::map<std::uint64_t, Clock> clocks_;           // Clocks with open releases.
  std::vector<std::optional<std::uint64_t>> open_;  // By worker: the clock of its release.
};

}  // namespace outpace::update
