#include "runtime_model/forecast.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/normal_distribution.h"

namespace outpace::runtime_model {
namespace {

constexpr double kNormalReach = 6.0;  // In sigmas; the normal beyond is negligible.
constexpr double kSpread = 1e-3;      // Share of each density that is uniform over the grid.

float normal_share(double z) {
  return z < -kNormalReach ? 0.0F : z > kNormalReach ? 1.0F : static_cast<float>(normal_cdf(z));
}

}  // namespace

void Forecast::reset(const TimeGrid& grid, std::uint32_t workers) {
  grid_ = grid;
  workers_ = workers;
  cdf_.resize(width() * workers);
  shifts_.assign(1, {});
  ranks_.clear();
  alike_.reset();
}

void Forecast::set_row(std::uint32_t worker, std::span<const float> mass) {
  CHECK(mass.size() == grid_.bins());
  const std::span<float> to = row(worker);
  float sum = 0.0F;
  to[0] = 0.0F;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    sum += mass[i];
    to[i + 1] = sum;
  }
  CHECK(sum > 0.0F);
  const float scale = 1.0F / sum;
  for (float& value : to) {
    value *= scale;
  }
  to.back() = 1.0F;
}

void Forecast::set_lognormal_rows(std::span<const double> seconds, double sigma) {
  CHECK(seconds.size() == workers_);
  // All rows have the same shape, and their places are rounded to the nearest edge.
  const int reach = static_cast<int>(grid_.bins());
  in_hand_.clear();
  for (int i = -reach; i <= reach; ++i) {
    in_hand_.push_back(normal_share(i * grid_.step() / sigma));
  }
  for (std::uint32_t w = 0; w < workers_; ++w) {
    const auto center = std::lround(grid_.position(seconds[w]));
    const auto from = in_hand_.begin() + (reach - center);
    const std::span<float> to = row(w);
    std::copy(from, from + static_cast<std::ptrdiff_t>(to.size()), to.begin());
    to.front() = 0.0F;
    to.back() = 1.0F;
  }
}

void Forecast::set_normal_rows(const Alike& alike) {
  const std::span<float> first = row(0);
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = normal_share((grid_.edge(static_cast<double>(i)) - alike.mean) / alike.sigma);
  }
  first.front() = 0.0F;
  first.back() = 1.0F;
  for (std::uint32_t w = 1; w < workers_; ++w) {
    std::copy(first.begin(), first.end(), row(w).begin());
  }
  alike_ = alike;
}

void Forecast::delay_row(std::uint32_t worker, double seconds) {
  if (seconds <= 0.0) {
    return;
  }
  alike_.reset();
  in_hand_.resize(width());
  for (std::size_t i = 0; i < in_hand_.size(); ++i) {
    const double before = grid_.edge(static_cast<double>(i)) - seconds;
    in_hand_[i] = before <= 0.0 ? 0.0F : static_cast<float>(cdf(worker, grid_.position(before)));
  }
  in_hand_.back() = 1.0F;
  std::copy(in_hand_.begin(), in_hand_.end(), row(worker).begin());
}

double Forecast::cdf(std::uint32_t worker, double position) const {
  const std::span<const float> from = row(worker);
  const double inside = std::clamp(position, 0.0, static_cast<double>(grid_.bins()));
  const auto i = std::min(static_cast<std::size_t>(inside), std::size_t{grid_.bins()} - 1);
  const double within = inside - static_cast<double>(i);
  return from[i] + within * (from[i + 1] - from[i]);
}

double Forecast::log_density(std::uint32_t worker, double position) const {
  const std::span<const float> from = row(worker);
  const double even = 1.0 / (grid_.step() * grid_.bins());
  double density = 0.0;
  if (position >= 0.0 && position < grid_.bins()) {
    const auto bin = static_cast<std::size_t>(position);
    density = (from[bin + 1] - from[bin]) / grid_.step();
  }
  return std::log((1.0 - kSpread) * density + kSpread * even);
}

double Forecast::log_survival(std::uint32_t worker, double position) const {
  return std::log((1.0 - kSpread) * (1.0 - cdf(worker, position)) + kSpread);
}

double Forecast::quantile(std::uint32_t worker, double probability) const {
  const std::span<const float> from = row(worker);
  const auto above =
      std::upper_bound(from.begin() + 1, from.end() - 1, static_cast<float>(probability));
  const auto i = above - from.begin() - 1;
  const double rise = from[static_cast<std::size_t>(i) + 1] - from[static_cast<std::size_t>(i)];
  const double within =
      rise > 0.0 ? std::clamp((probability - from[static_cast<std::size_t>(i)]) / rise, 0.0, 1.0)
                 : 1.0;
  return grid_.edge(static_cast<double>(i) + within);
}

double Forecast::mean_of_slowest() const {
  double mean = grid_.edge(0.0);  // E[X] = low + the integral of P(X > t) from there on.
  for (std::uint32_t i = 0; i < grid_.bins(); ++i) {
    double all = 1.0;  // P(all are there by the middle of the bin).
    for (std::uint32_t worker = 0; worker < workers_; ++worker) {
      const std::span<const float> from = row(worker);
      all *= 0.5 * (from[i] + from[i + 1]);
    }
    mean += (1.0 - all) * (grid_.edge(i + 1.0) - grid_.edge(i));
  }
  return mean;
}

}  // namespace outpace::runtime_model
