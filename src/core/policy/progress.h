// How much progress a second each policy would make of the workers' runtimes: an estimate, in steps
// along exact gradients a second.
//
// An update of c gradients is worth c / (c + phi) of a step along the exact gradient, where phi is
// the noise scale in gradients (runtime_model/worth.h). Where gradients are stale, an update of one
// gradient at 1 / W of the rate advances as a sync of W would that has
//
//   M = 1 + sqrt(tau_max tau_mean)
//
// gradients in an update: Koloskova, Stich, Jaggi, "Sharper Convergence Guarantees for Asynchronous
// SGD for Distributed and Federated Learning" (NeurIPS 2022), whose bound for a constant rate has
// this root. So, for rows of runtimes x_w of W workers (pace_rows.h), E over rows,
//
//   every gradient of a round   W / ((phi + W) E[max x])
//   a deadline T                E[N / (phi + N)] / E[min(T, max x)],  N = the workers with x_w <= T
//   every gradient by itself    L / (phi + 1 + sqrt(tau_max tau_mean)),  L = sum_w 1 / E[x_w],
//                               tau_mean = W - 1,  tau_max = max_w (L - 1 / E[x_w]) max x_w
//   the same in step            W / max_w E[x_w] in place of L, except in tau_max
//
// Where mini-batches have sizes of their own, N is the sum of what has come by T.
//
// A run that was made or simulated tells by its own updates, whatever its policies: G gradients a
// second make G / (phi + M), where M is the mean over gradients of c (1 + sqrt(tau_max tau_mean)),
// for the c gradients of its update and the staleness that there was.
//
// For equal, constant workers all are the same. Without noise (phi = 0) updates a second count; the
// more noise there is, the more gradients a second do.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "policy/pace_rows.h"

namespace outpace::policy {

class Progress {
 public:
  // REQUIRES of each call: at least one row and worker; all seconds positive.
  //
  // Every update takes a gradient of each worker.
  [[nodiscard]] static double of_all(const Paces& paces, double phi);

  // An update takes what has come by the deadline that maximises gradients a second, or progress;
  // then of at least two gradients, which tell their noise.
  enum class Goal : std::uint8_t { kGradients, kProgress };
  [[nodiscard]] double by_deadline(const Paces& paces, double phi, Goal goal);

  // Every gradient is an update, at 1 / W of the rate. `stalest`: versions that it may be behind;
  // what a worker has by then counts, so that no example is lost.
  [[nodiscard]] static double of_each(const Paces& paces,
                                      double phi,
                                      double stalest = std::numeric_limits<double>::infinity());

  // The gradients of a run that were this many updates stale.
  struct Stale {
    std::uint64_t staleness = 0;
    std::uint64_t gradients = 0;
  };
  // M of a run with this many updates. `by_staleness` ascends, without a staleness twice. For the
  // most it takes what all but one in a hundred stale gradients had: a single one that a crash
  // delayed would weigh as much as all others. If fewer gradients are stale than there are updates,
  // each counts as an update of its own, beside rounds of fresh ones: so a run that had policies of
  // both kinds is their mean. REQUIRES: updates above 0.
  [[nodiscard]] static double mixed_gradients(std::span<const Stale> by_staleness,
                                              std::uint64_t updates);

  // The same at the pace of the slowest, which the others are at most `ahead` iterations ahead of:
  // no gradient is more than ahead + 1 iterations of all the others behind.
  [[nodiscard]] static double in_step(const Paces& paces, double phi, std::uint32_t ahead);

 private:
  struct Arrival {
    float seconds;
    std::uint32_t row;
    float size;
  };
  struct Row {
    std::uint32_t workers = 0;  // That have come,
    double gradients = 0.0;     // with as many.
  };
  std::vector<Arrival> arrivals_;  // Scratch space, kept for its memory.
  std::vector<Row> by_row_;
};

}  // namespace outpace::policy
