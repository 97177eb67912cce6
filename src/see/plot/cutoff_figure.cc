#include "plot/cutoff_figure.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime_model/draws.h"

namespace outpace::plot {
namespace {

constexpr std::uint32_t kDrawsOfBand = 256;

ForecastBand band_of(const runtime_model::TrialView& view) {
  std::vector<std::uint32_t> workers(view.came.size());
  std::iota(workers.begin(), workers.end(), 0U);
  runtime_model::Draws draws;
  draws.draw(*view.forecast, workers, kDrawsOfBand, view.row);
  const auto at = [&](double probability) { return draws.quantile(view.ended.count, probability); };
  return {.low90 = at(0.05), .low50 = at(0.25), .high50 = at(0.75), .high90 = at(0.95)};
}

}  // namespace

CutoffIteration to_iteration(const runtime_model::TrialView& view) {
  CutoffIteration one{.came = {view.came.begin(), view.came.end()},
                      .chosen = {.seconds = view.ended.seconds, .count = view.ended.count},
                      .oracle = {},
                      .forecast = {}};
  if (view.forecast != nullptr) {
    one.forecast = band_of(view);
  }
  return one;
}

std::size_t window_from(std::optional<std::size_t> row,
                        std::size_t first_row,
                        std::size_t iterations) {
  if (!row) {
    return iterations - std::min(iterations, kCutoffWindow);
  }
  if (*row < first_row || *row >= first_row + iterations) {
    throw usage_error(fmt::format("--plot-from is {}; it takes a row that is judged, from {} to {}",
                                  *row,
                                  first_row,
                                  first_row + iterations - 1));
  }
  return *row - first_row;
}

}  // namespace outpace::plot
