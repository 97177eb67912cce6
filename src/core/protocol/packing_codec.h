// How a frame says that its payload is packed. A part of codec.h.

#pragma once

#include <cstdint>

#include <outpace.pb.h>

#include "protocol/messages.h"
#include "protocol/packing.h"

namespace outpace::protocol {

void write(const Packing& packing, pb::Packing& out);

// Throws an Error if a field breaks a rule, or does not suit this message with these numbers.
[[nodiscard]] Packing read_packing(const pb::Packing& packing,
                                   const Message& message,
                                   std::uint64_t numbers);

}  // namespace outpace::protocol
