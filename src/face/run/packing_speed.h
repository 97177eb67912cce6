// Measures how fast a core of this machine packs and unpacks, for predictions.

#pragma once

#include <cstddef>

#include "throughput/packing_rates.h"

namespace outpace::run {

// Medians, in every format, for a network of this size.
[[nodiscard]] throughput::PackingRates measure_packing(std::size_t numbers);

}  // namespace outpace::run
