// Lognormals as masses of a grid's bins, tabulated by their width: a deep model adds many thousands
// of them for one forecast.

#pragma once

#include <span>
#include <vector>

#include "runtime_model/time_grid.h"

namespace outpace::runtime_model {

class LognormalTable {
 public:
  LognormalTable() = default;
  explicit LognormalTable(const TimeGrid& grid);

  // Adds `weight` times exp(N(., exp(log_sigma)^2)), whose median is at a position of the grid, to
  // the masses of its bins. What is beyond the grid's ends is left out, and so are a weight of next
  // to nothing and numbers that are not finite, as a network's may be.
  void add(double position, float log_sigma, float weight, std::span<float> mass) const;

 private:
  std::vector<std::vector<float>> lognormals_;  // By log sigma: bins around the median.
};

}  // namespace outpace::runtime_model
