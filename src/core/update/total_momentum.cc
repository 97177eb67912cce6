#include "update/total_momentum.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/check.h"
#include "base/median.h"

namespace outpace::update {

TotalMomentum::TotalMomentum(std::uint32_t tau, std::size_t size)
    : size_(size), moves_(std::size_t{tau} + 2) {}

std::optional<double> TotalMomentum::measure(std::span<const float> move,
                                             double alpha,
                                             std::span<const float> gradient) {
  CHECK(move.size() == size_ && gradient.size() == size_);
  moves_[next_].assign(move.begin(), move.end());
  next_ = (next_ + 1) % moves_.size();
  known_ = std::min(known_ + 1, moves_.size());
  if (known_ < moves_.size()) {
    return std::nullopt;
  }
  const std::span<const float> before(moves_[next_]);
  const std::span<const float> after(moves_[(next_ + 1) % moves_.size()]);
  const auto rate = static_cast<float>(std::min(alpha, double{FLT_MAX}));
  ratios_.clear();
  for (std::size_t i = 0; i < size_; ++i) {
    const float ratio = (after[i] + rate * gradient[i]) / before[i];
    if (std::isfinite(ratio)) {
      ratios_.push_back(ratio);
    }
  }
  if (ratios_.empty()) {
    return std::nullopt;
  }
  return static_cast<double>(upper_median(ratios_));
}

}  // namespace outpace::update
