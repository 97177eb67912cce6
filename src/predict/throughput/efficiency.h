// How much an example contributes to learning when many are mixed into one update.
//
// McCandlish, Kaplan, Amodei et al., "An Empirical Model of Large-Batch Training" (2018): with the
// best learning rate, an update of M examples lowers the loss by dL / (1 + phi / M), where phi =
// tr(Sigma) / |G|^2 is the gradient's noise scale, in examples. Each of its examples thus
// contributes 1 / (phi + M) of dL. Relative to updates of M0 examples, as in Pollux (Qiao et al.,
// OSDI 2021, section 3):
//
//   EFF(M) = (phi + M0) / (phi + M)
//
// M depends on the policy. A round of c gradients of b examples has M = c b. Without a barrier, an
// update of c b examples is made while other gradients are in flight, and tau updates pass before a
// gradient is applied. Then M = (1 + sqrt(tau_max tau_avg)) c b. The reason: asynchronous SGD at a
// constant rate needs O(sigma^2 / eps^2 + sqrt(tau_max tau_avg) / eps) gradients to reach a
// stationary point (Koloskova, Stich, Jaggi, "Sharper Convergence Guarantees for Asynchronous SGD",
// NeurIPS 2022), and mini-batches of n need O(sigma^2 / eps^2 + n / eps). A staleness of tau thus
// costs as much as a mini-batch of tau + 1. With W equally fast workers and no barrier, tau_max =
// tau_avg = W - 1.
//
// The model ignores: that phi grows as the loss falls; learning rates that are not the best for
// their M; momentum, adaptive optimizers and rules that weight stale gradients less; that the
// bounds are upper bounds; and that the replicas of a gossip differ.

#pragma once

#include "policy/recorded_run.h"
#include "throughput/coarse_cluster.h"

namespace outpace::throughput {

struct Batches {
  double mixed;  // M.
  double first;  // M0, for which an example counts as 1.
};

// EFF. `noise_scale` is phi. REQUIRES: all above 0 and finite.
[[nodiscard]] double efficiency(double noise_scale, const Batches& batches);

// The examples that updates of `mixed` take for what the run reached: its own, as 1 / EFF of both
// says. REQUIRES: as above.
[[nodiscard]] double examples_to(const policy::Reached& reached, double noise_scale, double mixed);

// M in gradients, by the coarse models: the cutoff of a round; 1 + sqrt(tau_max tau_avg) where
// nobody waits; otherwise one per worker, as all are in flight. A ring and a gossip also mix one
// per worker. REQUIRES: computing takes some time.
[[nodiscard]] double mixed_gradients(const CoarseCluster& cluster, const Computing& computing);

}  // namespace outpace::throughput
