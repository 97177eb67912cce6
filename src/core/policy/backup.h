// Synchronous SGD with backup workers: an update is the first c gradients; the rest are dropped.
//
//   w(t+1) = w(t) - eta * 1/c * sum over the c fastest of g_k(w(t)),   tau = 0 always
//
// Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous SGD" (2016), section 3:
// N workers and b backups, c = N; "K-sync" in Dutta et al., "Slow and Stale Gradients Can Win the
// Race" (AISTATS 2018), and so under that name too. An update takes the c-th order statistic of the
// runtimes instead of the maximum, at the cost of the stragglers' work.

#pragma once

#include <cstdint>

#include "policy/round.h"

namespace outpace::policy {

class Backup final : public Round {
 public:
  struct Options {
    std::uint32_t cutoff;  // Gradients per update; at least 1. Shrinks when fewer can come.
  };

  explicit Backup(Options options) : Round(options.cutoff) {}
};

}  // namespace outpace::policy
