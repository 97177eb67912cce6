// The coefficients of an iteration's cost from measured rows, in relative error.

#pragma once

#include <cstddef>
#include <span>

#include "throughput/iteration_cost.h"

namespace outpace::throughput {

inline constexpr double kOverlapMost = 10.0;

struct CostFit {
  IterationCost cost;
  // Root of the mean of rho(log T - log measured), rho being Huber's; about a relative error.
  double error = 0.0;
  std::size_t coefficients = 0;  // That were free.
  bool overlap_known = false;    // g was.
};

// Minimises the sum of rho(log T - log iteration_seconds) over coefficients that are not negative.
// rho is the square up to 10 % and grows linearly past it (Huber, "Robust estimation of a location
// parameter", 1964), so that a few rows that were disturbed pull no harder than others. Where
// sync_seconds is known, iteration_seconds - sync_seconds is taken as a measurement of T_grad too,
// of half the weight.
//
// Only what the rows can tell is free: c1 with two batches, c2 with four, l0 and n0 with two
// numbers of workers on one node or across nodes, g with two batches. If there are not more rows
// than coefficients, first c2 and g are left out, then one node and several cost alike and nothing
// is fixed: T = c0 + c1 b + s h(W). With a single batch, half of c0 is taken to grow with the
// batch.
//
// REQUIRES: rows is not empty, and all have iteration_seconds.
// 1 <= overlap <= 10, which is g where the rows cannot tell it.
[[nodiscard]] CostFit fit_cost(std::span<const Row> rows, Growth growth, double overlap = 1.0);

}  // namespace outpace::throughput
