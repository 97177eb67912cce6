#include "throughput/pass_marks.h"

#include <utility>

#include "throughput/quantile.h"

namespace outpace::throughput {
std::vector<MeasuredLayer> layers_of(std::span<const PassMarks> passes) {
  if (passes.empty() || passes.front().between.size() % 2 != 0) {
    return {};
  }
  const std::size_t layers = passes.front().between.size() / 2;
  std::vector<std::vector<double>> forward(layers);
  std::vector<std::vector<double>> backward(layers);
  for (const PassMarks& pass : passes) {
    if (pass.between.size() != 2 * layers) {
      return {};
    }
    for (std::size_t i = 0; i < layers; ++i) {
      const double from = i == 0 ? pass.begin : pass.between[i];
      forward[i].push_back(pass.between[i + 1] - from);
      const std::size_t back = 2 * layers - 1 - i;
      backward[i].push_back((i == 0 ? pass.end : pass.between[back + 1]) - pass.between[back]);
    }
  }
  std::vector<MeasuredLayer> medians(layers);
  for (std::size_t i = 0; i < layers; ++i) {
    medians[i] = {quantile(std::move(forward[i]), 0.5), quantile(std::move(backward[i]), 0.5)};
  }
  return medians;
}

std::vector<MeasuredIteration> iterations_of(std::span<const PassMarks> passes) {
  std::vector<MeasuredIteration> iterations;
  iterations.reserve(passes.size());
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) {
    iterations.push_back({passes[i].end - passes[i].begin, passes[i + 1].begin - passes[i].end});
  }
  return iterations;
}

}  // namespace outpace::throughput
