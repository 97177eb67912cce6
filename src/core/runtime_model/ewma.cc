#include "runtime_model/ewma.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr double kNewest = 0.2;  // The weight of the newest runtime.
constexpr std::size_t kResiduals = 2048;
constexpr double kLargestResidual = 5.0;  // Larger residuals are clamped to this; in log units.
constexpr int kSmooth = 2;           // A residual also counts for this many bins on either side.
constexpr float kPriorMass = 1e-3F;  // Uniform over all residuals, and the same again at 0.

}  // namespace

void Ewma::observe(std::span<const Observation> iteration) {
  grid_.follow(iteration);
  if (levels_.empty()) {
    levels_.assign(iteration.size(), 0.0);
    known_.assign(iteration.size(), false);
  }
  CHECK(iteration.size() == levels_.size());
  for (std::uint32_t w = 0; w < iteration.size(); ++w) {
    const Observation& seen = iteration[w];
    if (seen.fate == Fate::kArrived) {
      take(w, seen.seconds);
    } else if (seen.fate == Fate::kLonger) {
      levels_[w] =
          known_[w] ? std::max(levels_[w], std::log(seen.seconds)) : std::log(seen.seconds);
      known_[w] = true;
    }
  }
}

void Ewma::take(std::uint32_t worker, double seconds) {
  const double level = std::log(seconds);
  if (!known_[worker]) {
    levels_[worker] = level;
    known_[worker] = true;
    return;
  }
  const double residual = level - levels_[worker];
  if (residuals_.size() < kResiduals) {
    residuals_.push_back(residual);
  } else {
    residuals_[next_] = residual;
    next_ = (next_ + 1) % kResiduals;
  }
  levels_[worker] += kNewest * residual;
}

void Ewma::correct(std::uint32_t worker, double seconds) {
  take(worker, seconds);
}

bool Ewma::forecast(Forecast& out) {
  if (levels_.empty()) {
    return false;
  }
  const TimeGrid& grid = grid_.now();
  const int reach = static_cast<int>(kLargestResidual / grid.step());
  const int width = 2 * reach + 1;
  kernel_.assign(static_cast<std::size_t>(width), kPriorMass / static_cast<float>(width));
  kernel_[static_cast<std::size_t>(reach)] += kPriorMass;  // As long as there are no residuals.
  for (const double residual : residuals_) {
    const int at = static_cast<int>(std::lround(residual / grid.step()));
    for (int i = -kSmooth; i <= kSmooth; ++i) {
      const int to = std::clamp(at + i + reach, 0, width - 1);
      kernel_[static_cast<std::size_t>(to)] +=
          1.0F / static_cast<float>((2 * kSmooth + 1) * residuals_.size());
    }
  }
  out.reset(grid, static_cast<std::uint32_t>(levels_.size()));
  const int last = static_cast<int>(grid.bins()) - 1;
  for (std::uint32_t w = 0; w < levels_.size(); ++w) {
    mass_.assign(grid.bins(), 0.0F);
    const int center = known_[w] ? static_cast<int>(grid.bin(std::exp(levels_[w]))) : last / 2;
    for (int i = 0; i < width; ++i) {
      const int to = std::clamp(center + i - reach, 0, last);
      mass_[static_cast<std::size_t>(to)] += kernel_[static_cast<std::size_t>(i)];
    }
    out.set_row(w, mass_);
  }
  return true;
}

}  // namespace outpace::runtime_model
