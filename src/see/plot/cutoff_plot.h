// A picture of a dynamic cutoff on a trace: how fast it was from end to end, and for a window of
// iterations when gradients came, when it stopped, and what it had forecast.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace outpace::plot {

struct CutoffStop {
  double seconds;  // Since the iteration began.
  std::uint32_t count;
};

// Quantiles of a forecast, in seconds: 5, 25, 75 and 95 %.
struct ForecastBand {
  double low90;
  double low50;
  double high50;
  double high90;
};

struct CutoffIteration {
  std::vector<double> came;  // Seconds of all workers' arrivals, the shortest first.
  CutoffStop chosen;
  CutoffStop oracle;
  std::optional<ForecastBand> forecast;  // For the gradient that it stopped with: the count-th.
};

struct CutoffFigure {
  std::string trace;
  std::string rule;
  std::size_t first_row = 0;                // The trace's, of the first iteration.
  std::vector<CutoffIteration> iterations;  // At least one; the same number of workers in all.
  std::size_t window = 0;                   // Index of the iteration that the window begins with.
};

// Iterations that the window shows at most.
inline constexpr std::size_t kCutoffWindow = 100;

// An SVG document. REQUIRES: window < iterations.size().
[[nodiscard]] std::string cutoff_plot_of(const CutoffFigure& figure);

}  // namespace outpace::plot
