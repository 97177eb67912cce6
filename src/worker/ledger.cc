#include "worker/ledger.h"

#include <algorithm>
#include <limits>

namespace outpace::worker {

std::optional<double> Ledger::compute(std::span<const float> /*weights*/,
                                      std::span<const std::uint64_t> examples,
                                      std::span<float> gradient,
                                      const Cancelled& cancelled) {
  if (cancelled()) {
    return std::nullopt;
  }
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  for (const std::uint64_t example : examples) {
    gradient[example] += 1.0F / static_cast<float>(examples.size());
  }
  ++computed_;
  if (broken_every_ != 0 && computed_ % broken_every_ == 0) {
    gradient.back() = std::numeric_limits<float>::quiet_NaN();
  }
  return 1.0;
}

}  // namespace outpace::worker
