// K-batch-async SGD: an update is the next k gradients to arrive, and nobody waits.
//
//   w(j+1) = w(j) - eta * 1/k * sum over the k mini-batches of g(w(j - tau))
//
// Dutta et al., "Slow and Stale Gradients Can Win the Race" (AISTATS 2018), section 2. With P
// workers an update takes k E[X] / P on average, for any distribution of the runtime X. n-softsync
// with floor(lambda / n) = k decides alike, as long as all live.

#pragma once

#include <cstdint>

#include "policy/first_come.h"

namespace outpace::policy {

class KBatchAsync final : public FirstCome {
 public:
  struct Options {
    std::uint32_t k;  // Gradients per update; at least 1.
  };

  explicit KBatchAsync(Options options) : k_(options.k) {}

  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t /*workers*/) const override {
    return k_;
  }
  // From the next event on.
  void set_cutoff(std::uint32_t cutoff) { k_ = cutoff; }
  void keep(Archive& archive) override {
    FirstCome::keep(archive);
    archive("k", k_);
  }

 private:
  std::uint32_t k_;
};

}  // namespace outpace::policy
