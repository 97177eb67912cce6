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
// update of c b examples is made while other gradients are in flight, and tau updates pass on
// average before a gradient is applied. Then M = (1 + tau) c b, everything that is mixed meanwhile.
// The reason: SGD with delay tau needs O(sigma^2 / eps^2 + (tau + 1) / eps) gradients to reach a
// stationary point (Stich & Karimireddy, "The Error-Feedback Framework", JMLR 21, 2020; for
// quadratics Arjevani, Shamir, Srebro, "A Tight Convergence Analysis for SGD with Delayed Updates",
// 2020), and mini-batches of n need O(sigma^2 / eps^2 + n / eps). A delay of tau thus costs as much
// as a mini-batch of tau + 1. With W equally fast workers and no barrier, tau = W - 1.
//
// The model ignores: that phi grows as the loss falls; learning rates that are not the best for
// their M; momentum, adaptive optimizers and rules that weight stale gradients less; that the
// bounds are upper bounds for a single delay, while workers have several; and that the replicas of
// a gossip differ.

#pragma once

#include "throughput/coarse_cluster.h"

namespace outpace::throughput {

struct Batches {
  double mixed;  // M.
  double first;  // M0, for which an example counts as 1.
};

// EFF. `noise_scale` is phi. REQUIRES: all above 0 and finite.
[[nodiscard]] double efficiency(double noise_scale, const Batches& batches);

// M in gradients, by the coarse models: the cutoff of a round; otherwise one per worker, as all are
// in flight. A ring and a gossip also mix one per worker.
[[nodiscard]] double mixed_gradients(const CoarseCluster& cluster, const Computing& computing);

}  // namespace outpace::throughput
