// The arithmetic of weights of which each worker has its own: two that meet halfway, and the mean
// of all.

#pragma once

#include <span>
#include <vector>

namespace outpace::collective {

// Moves `mine` halfway to the other's weights: mine += (theirs - then) / 2, where `then` is what
// `mine` was when it was sent to the other, who moves by (then - theirs) / 2. Gradients that were
// applied in between stay whole, and the sum of the two does not change by the meeting:
// the averaging matrix of AD-PSGD (Lian et al., ICML 2018, equation 2) with both at 1/2, but for
// the rounding of float32. REQUIRES: all of one size.
void meet_halfway(std::span<float> mine,
                  std::span<const float> then,
                  std::span<const float> theirs);

// The element-wise mean, added up in double, in order. REQUIRES: at least one, all of one size.
[[nodiscard]] std::vector<float> mean_of(std::span<const std::vector<float>> replicas);

}  // namespace outpace::collective
