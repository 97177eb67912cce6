// AdaSync: how many gradients an update waits for grows as the loss falls.
//
//   K = round(K_0 * sqrt(F(w_0) / F(w_t))),   1 <= K <= workers
//
// Dutta, Wang, Joshi, "Slow and Stale Gradients Can Win the Race" (IEEE JSAIT 2021): noisy and fast
// at first, exact and slow at the end. F is the loss on the test set, as it is measured: F(w_0) the
// first one. Without measurements K stays K_0. Another policy's rule says which gradients an
// update waits for: that of ksync, kbatchsync, kasync or kbatchasync.

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

  // REQUIRES: rule waits for k; 1 <= k <= workers.
  AdaSync(Rule rule, std::uint32_t k, std::uint32_t workers);

  void decide(Time now, const Event& event, Decision& out) override;
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;
  void keep(Archive& archive) override;

 private:
  void hear(double loss, Decision& out);

  // Constant after construction.
  const std::uint32_t first_k_;
  const std::uint32_t workers_;

  Rule rule_;
  std::optional<double> first_loss_;
};

}  // namespace outpace::policy
