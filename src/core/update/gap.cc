#include "update/gap.h"

#include <cmath>

#include "base/check.h"

namespace outpace::update {

Gap::Gap(double m, std::size_t size) : m_(m), travel_(size) {
  CHECK(m >= 0.0 && m < 1.0);
}

void Gap::correct(const Corrected& of, std::span<float> gradient, std::span<const float> weights) {
  const std::size_t size = travel_.size();
  const std::span<const float> then = released_.of(of.worker);
  CHECK(gradient.size() == size && weights.size() == size && then.size() == size);
  const auto unbiased = static_cast<float>(1.0 - m_power_);
  const std::span<const float> travel(travel_);
  for (std::size_t i = 0; i < size; ++i) {
    const float moved = std::fabs(weights[i] - then[i]) * unbiased;
    // g / (1 + moved / travel), written so that 0 / 0 can occur only where nothing moved.
    gradient[i] = moved > 0.0F ? gradient[i] / (1.0F + moved / travel[i]) : gradient[i];
  }
}

void Gap::stepped(std::span<const float> before, std::span<const float> after) {
  const std::size_t size = travel_.size();
  CHECK(before.size() == size && after.size() == size);
  m_power_ *= m_;
  const auto m = static_cast<float>(m_);
  const auto fresh = static_cast<float>(1.0 - m_);
  const std::span<float> travel(travel_);
  for (std::size_t i = 0; i < size; ++i) {
    travel[i] = m * travel[i] + fresh * std::fabs(after[i] - before[i]);
  }
}

}  // namespace outpace::update
