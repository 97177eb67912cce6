// Arithmetic on replicas of the weights: averaging two of them, and the mean of all.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace outpace::collective {

// Moves `mine` halfway towards the other worker's weights: mine += (theirs - then) / 2, where
// `then` is what `mine` was when it was sent. The other worker moves by (then - theirs) / 2.
// Gradients applied in between are kept in full, and the meeting does not change the sum of the
// two. This is the averaging matrix of AD-PSGD (Lian et al., ICML 2018, equation 2) with both
// weights 1/2, up to float32 rounding. REQUIRES: all of one size.
void meet_halfway(std::span<float> mine,
                  std::span<const float> then,
                  std::span<const float> theirs);

// Replaces `mine` by the mean of itself and `count` others; `sum` is the others' sum. REQUIRES: all
// of one size.
void mean_with(std::span<float> mine, std::span<const float> sum, std::uint32_t count);

// Elastic averaging: mine += alpha * (theirs - then), where `then` is what `mine` was when it was
// sent. The other moves by alpha * (then - theirs), so the sum of the two stays. Zhang,
// Choromanska, LeCun, "Deep learning with Elastic Averaging SGD", 2015, algorithm 1. REQUIRES: all
// of one size.
void move_towards(std::span<float> mine,
                  std::span<const float> then,
                  std::span<const float> theirs,
                  float alpha);

// The element-wise mean, summed in double, in order. REQUIRES: at least one replica, all of one
// size.
[[nodiscard]] std::vector<float> mean_of(std::span<const std::vector<float>> replicas);

}  // namespace outpace::collective
