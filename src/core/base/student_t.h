// Student's t: how wide the interval of a mean of few values is.

#pragma once

#include <cstddef>

namespace outpace {

// The t with P(|T| <= t) = confidence, for Student's T with this many degrees of freedom.
// REQUIRES: degrees > 0, 0 < confidence < 1.
[[nodiscard]] double student_t(std::size_t degrees, double confidence);

}  // namespace outpace
