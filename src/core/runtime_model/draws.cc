#include "runtime_model/draws.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/normal_distribution.h"

namespace outpace::runtime_model {

void Draws::draw(const Forecast& forecast,
                 std::span<const std::uint32_t> workers,
                 std::uint32_t count,
                 std::uint64_t seed) {
  CHECK(std::has_single_bit(count));
  workers_ = static_cast<std::uint32_t>(workers.size());
  Rng rng(seed, 0);
  if (forecast.ranks().empty()) {
    draw_apart(forecast, workers, count, rng);
  } else {
    draw_by_ranks(forecast, workers);
  }
  if (forecast.shifts().size() > 1 || forecast.shifts().front().bins != 0.0) {
    shift_rows(forecast, rng);
  }
  means_.assign(workers_, 0.0);
  for (std::uint32_t k = 0; k < count_; ++k) {
    const auto begin = sorted_.begin() + std::ptrdiff_t{k} * workers_;
    std::sort(begin, begin + workers_);
    for (std::uint32_t c = 0; c < workers_; ++c) {
      means_[c] += begin[c] / static_cast<double>(count_);
    }
  }
  if (forecast.alike()) {
    for (std::uint32_t c = 1; c <= workers_; ++c) {
      means_[c - 1] =
          std::max(elfving_mean(*forecast.alike(), c, workers_), forecast.grid().edge(0.0));
    }
  }
}

void Draws::draw_apart(const Forecast& forecast,
                       std::span<const std::uint32_t> workers,
                       std::uint32_t count,
                       Rng& rng) {
  count_ = count;
  sorted_.resize(std::size_t{count} * workers_);
  for (std::uint32_t w = 0; w < workers_; ++w) {
    // An odd stride visits every stratum exactly once.
    const std::uint64_t first = rng.below(count);
    const std::uint64_t stride = 2 * rng.below(count) + 1;
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint64_t part = (first + stride * k) % count;
      const double u = (static_cast<double>(part) + rng.uniform()) / count;
      sorted_[std::size_t{k} * workers_ + w] = static_cast<float>(forecast.quantile(workers[w], u));
    }
  }
}

void Draws::draw_by_ranks(const Forecast& forecast, std::span<const std::uint32_t> workers) {
  count_ = static_cast<std::uint32_t>(forecast.ranks().size() / forecast.workers());
  sorted_.resize(std::size_t{count_} * workers_);
  for (std::uint32_t w = 0; w < workers_; ++w) {
    for (std::uint32_t k = 0; k < count_; ++k) {
      const float rank = forecast.ranks()[std::size_t{k} * forecast.workers() + workers[w]];
      sorted_[std::size_t{k} * workers_ + w] =
          static_cast<float>(forecast.quantile(workers[w], rank));
    }
  }
}

// Applies to each draw one common shift of all workers.
void Draws::shift_rows(const Forecast& forecast, Rng& rng) {
  for (std::uint32_t k = 0; k < count_; ++k) {
    double left = rng.uniform();
    double bins = 0.0;
    for (const Forecast::Shift& shift : forecast.shifts()) {
      bins = shift.bins;
      left -= shift.chance;
      if (left < 0.0) {
        break;
      }
    }
    const auto factor = static_cast<float>(std::exp(bins * forecast.grid().step()));
    for (std::uint32_t w = 0; w < workers_; ++w) {
      sorted_[std::size_t{k} * workers_ + w] *= factor;
    }
  }
}

double Draws::quantile(std::uint32_t c, double probability) const {
  std::vector<float> column(count_);
  for (std::uint32_t k = 0; k < count_; ++k) {
    column[k] = sorted(k)[c - 1];
  }
  std::sort(column.begin(), column.end());
  const double at = probability * count_ - 0.5;  // Draws are the midpoints of equal strata.
  const auto below = static_cast<std::size_t>(std::clamp(at, 0.0, count_ - 1.0));
  const std::size_t above = std::min<std::size_t>(below + 1, count_ - 1);
  const double within = std::clamp(at - static_cast<double>(below), 0.0, 1.0);
  return column[below] + within * (column[above] - column[below]);
}

double elfving_mean(const Alike& alike, std::uint32_t c, std::uint32_t workers) {
  constexpr double kPi = std::numbers::pi;
  return alike.mean + alike.sigma * normal_quantile((c - kPi / 8.0) / (workers - kPi / 4.0 + 1.0));
}

std::uint32_t draws_for(std::uint32_t workers) {
  constexpr std::uint32_t kNumbers = 16'384;
  return std::clamp(std::bit_floor(kNumbers / std::max(1U, workers)), 32U, 256U);
}

}  // namespace outpace::runtime_model
