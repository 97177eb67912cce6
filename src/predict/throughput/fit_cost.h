// Fits the coefficients of an iteration's cost to measured rows, by relative error.

#pragma once

#include <cstddef>
#include <span>

#include "throughput/iteration_cost.h"

namespace outpace::throughput {

inline constexpr double kOverlapMost = 10.0;

struct CostFit {
  IterationCost cost;
  // The root of the mean of rho(log T - log measured), with Huber's rho; roughly a relative error.
  double error = 0.0;
  std::size_t coefficients = 0;  // Number of free coefficients.
  bool overlap_known = false;    // Whether g was free.
};

// Minimises the sum of rho(log T - log iteration_seconds) over non-negative coefficients. rho is
// quadratic up to 10 % and linear beyond (Huber, "Robust estimation of a location parameter",
// 1964), so that a few disturbed rows pull no harder than others. Where sync_seconds is known,
// iteration_seconds - sync_seconds also counts as a measurement of T_grad, with half the weight.
//
// Only coefficients that the rows can determine are free. c1 needs two batch sizes, c2 four, l0 and
// n0 two numbers of workers (on one node, and across nodes), g two batch sizes. If there are no
// more rows than coefficients, c2 and g are fixed first; then one node and several share a cost
// without a fixed part: T = c0 + c1 b + s h(W). With a single batch size, half of c0 is assumed to
// grow with the batch.
//
// REQUIRES: rows is not empty, and all have iteration_seconds; 1 <= overlap <= 10. `overlap` is the
// value of g if the rows cannot determine it.
[[nodiscard]] CostFit fit_cost(std::span<const Row> rows, Growth growth, double overlap = 1.0);

}  // namespace outpace::throughput
