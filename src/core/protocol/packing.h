// How the numbers of a payload are written in fewer bytes.

#pragma once

#include <cstdint>

#include "compress/format.h"
#include "compress/reference.h"

namespace outpace::protocol {

struct Packing {
  compress::Format format{};                                     // A push's or a slice's.
  compress::WeightsKind weights = compress::WeightsKind::kNone;  // A release's.
  std::uint64_t bytes = 0;  // That follow in the place of four for each number.
  std::uint32_t check = 0;  // A release's: CRC32C of the weights that the receiver has then.

  bool operator==(const Packing&) const = default;
};

}  // namespace outpace::protocol
