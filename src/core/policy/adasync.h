// AdaSync: how many gradients an update waits for grows as the loss falls.
//
//   kbatchasync, kbatchsync   K = K_0 sqrt(F(w_0) / F(w_t))
//   kasync, ksync             K^2 / (P - K) = K_0^2 / (P - K_0) * F(w_0) / F(w_t)
//
// rounded, from 1 to P live workers. Dutta, Wang, Joshi, "Slow and Stale Gradients Can Win the
// Race" (IEEE JSAIT 2021): noisy and fast at first, exact and slow at the end. Over a stretch of
// time t, their bound of the error is 2 F(w) E[T(K)] / (t eta) + L eta sigma^2 / (K m), which is
// least where K^2 dE[T]/dK is in proportion to 1 / F(w). An update of the next K gradients takes
// E[T] = K E[X] / P; one of K workers' takes log(P / (P - K)) / mu beside a constant, with shifted
// exponential runtimes, so that the last workers cost more than the first.
//
// F is the training loss, as in the paper, here the mean over some 50 gradients, told after every
// update; or the loss on the test set, as it is measured. F(w_0) is the first one. Without a loss K
// stays K_0. Another policy's rule says which gradients an update waits for.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "policy/backup.h"
#include "policy/kasync.h"
#include "policy/kbatchasync.h"
#include "policy/kbatchsync.h"
#include "policy/policy.h"

namespace outpace::policy {

class AdaSync final : public Policy {
 public:
  using Rule = std::variant<KAsync, KBatchAsync, KBatchSync, Backup>;

  struct Options {
    std::uint32_t k;        // K_0.
    std::uint32_t workers;  // P before anybody has joined.
    Measure loss;           // F: kTrainingLoss or kTestLoss.
  };

  // REQUIRES: rule waits for k; 1 <= k <= workers.
  AdaSync(Rule rule, Options options);

  void decide(Time now, const Event& event, Decision& out) override;
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;
  void keep(Archive& archive) override;
  [[nodiscard]] bool asks_for_training_loss() const override {
    return options_.loss == Measure::kTrainingLoss;
  }

 private:
  void hear(double loss, Decision& out);

  // Constant after construction.
  const Options options_;

  Rule rule_;
  std::optional<double> first_loss_;
  std::uint32_t live_ = 0;
};

}  // namespace outpace::policy
