// Replacements for the mean of an update's gradients if some of them may be wrong.
//
//   trimmed  per coordinate, the mean without the f smallest and the f largest values
//   median   per coordinate, trimmed as far as possible
//     Yin, Chen, Ramchandran, Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal
//     Statistical Rates", ICML 2018, definitions 1 and 2
//   krum     s(i) = sum of ||g_i - g_j||^2 over the n - f - 2 gradients j != i nearest to g_i; the
//            gradient with the smallest s, or the mean of the m smallest
//     Blanchard, El Mhamdi, Guerraoui, Stainer, "Machine Learning with Adversaries: Byzantine
//     Tolerant Gradient Descent", NeurIPS 2017, section 4
//
// Each gradient has one vote, whatever its number of examples, because a wrong worker may lie about
// that too. The order of gradients matters only for ties in s, where the first one wins.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update/filter.h"

namespace outpace::update {

// Writes the replacement to `into`. If half of the gradients may be wrong, it is 0: with 2 f or
// fewer gradients, or two for the median. Otherwise, with fewer gradients than krum needs, it is
// krum with f = (n - 3) / 2. REQUIRES: the rule combines; at least one gradient; all have the size
// of `into`, and every number is finite.
void robust_mean(const FilterRule& rule,
                 std::span<const std::span<const float>> gradients,
                 std::span<float> into);

// The indices of krum's m gradients, the best first. REQUIRES: at least 3 gradients.
[[nodiscard]] std::vector<std::size_t> krum_choice(
    std::span<const std::span<const float>> gradients, std::size_t f, std::size_t m);

}  // namespace outpace::update
