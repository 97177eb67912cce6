#include "runtime_model/lognormal_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/normal_distribution.h"

namespace outpace::runtime_model {
namespace {

constexpr float kNoWeight = 2e-4F;
// Tabulated widths: each a constant factor wider than the one before.
constexpr float kLogSigmaLeast = -4.5F;
constexpr float kLogSigmaStep = 0.1F;
constexpr std::size_t kWidths = 66;
constexpr double kReach = 4.0;  // Sigmas.

// The masses of a normal's bins; the mean is in the middle of the middle bin.
std::vector<float> normal_bins(double sigma, double step, std::uint32_t bins) {
  const auto reach =
      std::min(static_cast<int>(std::ceil(kReach * sigma / step)), static_cast<int>(bins));
  const auto cdf = [&](double bin) { return normal_cdf(bin * step / sigma); };
  std::vector<float> masses;
  masses.reserve(2 * static_cast<std::size_t>(reach) + 1);
  for (int i = -reach; i <= reach; ++i) {
    masses.push_back(static_cast<float>(cdf(i + 0.5) - cdf(i - 0.5)));
  }
  return masses;
}

}  // namespace

LognormalTable::LognormalTable(const TimeGrid& grid) {
  for (std::size_t i = 0; i < kWidths; ++i) {
    const double log_sigma = kLogSigmaLeast + static_cast<double>(i) * kLogSigmaStep;
    lognormals_.push_back(normal_bins(std::exp(log_sigma), grid.step(), grid.bins()));
  }
}

void LognormalTable::add(double position,
                         float log_sigma,
                         float weight,
                         std::span<float> mass) const {
  if (!(weight > kNoWeight) || !std::isfinite(position) || !std::isfinite(log_sigma)) {
    return;
  }
  const auto width = static_cast<std::size_t>(
      std::clamp((log_sigma - kLogSigmaLeast) / kLogSigmaStep + 0.5F, 0.0F, kWidths - 1.0F));
  const std::vector<float>& masses = lognormals_[width];
  const auto bins = static_cast<std::ptrdiff_t>(mass.size());
  const auto reach = static_cast<std::ptrdiff_t>(masses.size() / 2);
  const auto middle =
      static_cast<std::ptrdiff_t>(std::clamp(position, 0.0, static_cast<double>(bins) - 1.0));
  const std::ptrdiff_t from = std::max(middle - reach, std::ptrdiff_t{0});
  const std::ptrdiff_t to = std::min(middle + reach + 1, bins);
  const float* const around = masses.data() + (reach - middle);
  for (std::ptrdiff_t i = from; i < to; ++i) {
    mass[static_cast<std::size_t>(i)] += weight * around[i];
  }
}

}  // namespace outpace::runtime_model
