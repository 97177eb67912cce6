// AdaSync: how many gradients an update waits for grows as the loss falls.
//
//   K = round(K_0 * sqrt(F(w_0) / F(w_t))),   1 <= K <= workers
//
// Dutta, Wang, Joshi, "Slow and Stale Gradients Can Win the Race" (IEEE JSAIT 2021): noisy and fast
// at first, exact and slow at the end. F is the training loss, as in the paper, here the mean over
// some 50 gradients, told after every update; or the loss on the test set, as it is measured.
// F(w_0) is the first one. Without a loss K stays K_0. Another policy's rule says which gradients
// an update waits for: that of ksync, kbatchsync, kasync or kbatchasync.

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
    std::uint32_t k;  // K_0.
    std::uint32_t workers;
    Measure loss;  // F: kTrainingLoss or kTestLoss.
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
};

}  // namespace outpace::policy
