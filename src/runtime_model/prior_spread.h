// How far log runtimes spread around what was expected of them, before any has been seen.

#pragma once

namespace outpace::runtime_model {

inline constexpr double kPriorSigma = 0.1;
inline constexpr double kPriorCount = 10.0;  // As if so many had been seen.

}  // namespace outpace::runtime_model
