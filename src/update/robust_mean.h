// What stands for the mean of an update's gradients if some of them may be wrong.
//
//   trimmed  of each coordinate, the mean without the f least and the f greatest values
//   median   of each coordinate: trimmed as far as it goes
//     Yin, Chen, Ramchandran, Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal
//     Statistical Rates", ICML 2018, definitions 1 and 2
//   krum     s(i) = sum of ||g_i - g_j||^2 over the n - f - 2 gradients j != i nearest to g_i; the
//            gradient of the least s, or the mean of the m of the least
//     Blanchard, El Mhamdi, Guerraoui, Stainer, "Machine Learning with Adversaries: Byzantine
//     Tolerant Gradient Descent", NeurIPS 2017, section 4
//
// Each gradient has one vote, whatever its examples: a worker that says how many it used may be
// wrong about that too. The order of the gradients shows nowhere but among equals: of gradients
// with the same s the first is taken.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update/filter.h"

namespace outpace::update {

// By `rule`, which combines. Of gradients of which half may be wrong it is 0: of 2 f or fewer, and
// of two by the median. Else, with fewer than krum takes, it is krum with f = (n - 3) / 2.
// REQUIRES: at least one gradient; all have the size of `into`, and every number is finite.
void robust_mean(const FilterRule& rule,
                 std::span<const std::span<const float>> gradients,
                 std::span<float> into);

// The places of krum's m gradients, the best first. REQUIRES: at least 3 gradients.
[[nodiscard]] std::vector<std::size_t> krum_choice(
    std::span<const std::span<const float>> gradients, std::size_t f, std::size_t m);

}  // namespace outpace::update
