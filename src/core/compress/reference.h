// A receiver's copy of the weights, moved on by what is sent: its reference. Sender and receiver
// compute the same bits of it, so that they may compare a checksum.
//
//   bf16   every number as bf16; no reference is needed
//   int8   next - reference as kInt8; the reference moves by what was packed, so that what rounding
//          leaves is in the next difference
//   delta  bf16, exact: only the numbers whose bf16 is another than the reference's
//
// Weights that are not finite make no message fail: bf16 and delta send them as they are, and a
// block of int8 with a difference that is not finite becomes NaN, the same one at both ends, and
// stays NaN. Such weights end a run, and are not hidden until then.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace outpace::compress {

enum class WeightsKind : std::uint8_t { kNone, kBf16, kInt8, kDelta };

// "none", "bf16", "int8" or "delta"; anything else is a usage error.
[[nodiscard]] WeightsKind parse_weights(std::string_view spec);
[[nodiscard]] std::string_view name(WeightsKind kind);

// The bytes of `next` for one who has `reference`; empty for a newcomer, who has nothing and gets
// float32 (int8) or all numbers (delta). `now` becomes what the receiver then has. REQUIRES: sizes
// are equal, `now` overlaps neither, and a reference of kDelta is what an earlier `now` was.
[[nodiscard]] std::vector<std::byte> pack_weights(WeightsKind kind,
                                                  std::span<const float> reference,
                                                  std::span<const float> next,
                                                  std::span<float> now);
// The same into a vector whose memory is used again: new pages take longer than the packing.
void pack_weights(WeightsKind kind,
                  std::span<const float> reference,
                  std::span<const float> next,
                  std::span<float> now,
                  std::vector<std::byte>& packed);

// Writes what the receiver then has. Throws an Error (kFailure), one line that says what is wrong,
// if pack_weights() does not write such bytes for this reference. REQUIRES: as pack_weights().
void unpack_weights(WeightsKind kind,
                    std::span<const std::byte> packed,
                    std::span<const float> reference,
                    std::span<float> now);

// No more bytes than these are packed, for newcomers and others.
[[nodiscard]] std::size_t packed_weights_most(WeightsKind kind, std::size_t numbers);

}  // namespace outpace::compress
