// How much an example is worth to learning when many are mixed in one update.
//
// McCandlish, Kaplan, Amodei et al., "An Empirical Model of Large-Batch Training" (2018): with the
// best learning rate an update of M examples lowers the loss by dL / (1 + phi / M),
// where phi = tr(Sigma) / |G|^2 is the gradient's noise scale, in examples. An example of it is
// worth 1 / (phi + M) of that; relative to updates of M0 examples, as Pollux has it (Qiao et al.,
// OSDI 2021, section 3):
//
//   EFF(M) = (phi + M0) / (phi + M)
//
// What M is. Of a round's c gradients of b examples, c b. Where nobody waits, an update of c b
// examples comes while others' gradients are in flight, tau updates on average before a gradient is
// taken up: then M = (1 + tau) c b, all that is mixed meanwhile. SGD with delay tau needs
// O(sigma^2 / eps^2 + (tau + 1) / eps) gradients to a stationary point (Stich &
// Karimireddy, "The Error-Feedback Framework", JMLR 21, 2020; Arjevani, Shamir, Srebro, "A Tight
// Convergence Analysis for SGD with Delayed Updates", 2020, for quadratics), and
// mini-batches of n need O(sigma^2 / eps^2 + n / eps): a delay costs what a mini-batch of
// tau + 1 does. With W workers of equal speed that nobody waits for, tau = W - 1.
//
// What it ignores: that phi grows as the loss falls; rates that are not the best for their M;
// momentum, adaptive optimizers and rules that weigh stale gradients less; that the bounds are
// upper bounds, and have one delay where workers have several; and that the replicas of a gossip
// are not alike.

#pragma once

#include "throughput/coarse_cluster.h"

namespace outpace::throughput {

struct Batches {
  double mixed;  // M.
  double first;  // M0: of what an example is worth 1.
};

// EFF. `noise_scale` is phi. REQUIRES: all above 0 and finite.
[[nodiscard]] double efficiency(double noise_scale, const Batches& batches);

// M in gradients by what coarse models know: the cutoff; all that are in flight where nobody waits
// for the others, and in a ring or a gossip, one a worker.
[[nodiscard]] double mixed_gradients(const CoarseCluster& cluster, const Computing& computing);

}  // namespace outpace::throughput
