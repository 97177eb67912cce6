// The prior spread of log runtimes around their prediction, before any observation.

#pragma once

namespace outpace::runtime_model {

inline constexpr double kPriorSigma = 0.1;
inline constexpr double kPriorCount = 10.0;  // Weight of the prior, in observations.

}  // namespace outpace::runtime_model
