// The protocol's number, and its limits.

#pragma once

#include <cstddef>
#include <cstdint>

namespace outpace::protocol {

// Peers with another number are refused with exit code 4.
inline constexpr std::uint32_t kProtocolVersion = 12;

// Limits, checked while a message is read and before memory is allocated for it.
inline constexpr std::uint32_t kWorkersMax = 65'536;
inline constexpr std::uint32_t kTensorsMax = 65'536;
inline constexpr std::uint32_t kTensorRankMax = 16;
inline constexpr std::uint64_t kWeightsMax = std::uint64_t{1} << 32U;  // Numbers: 16 GiB.
inline constexpr std::size_t kTextMax = 1024;
inline constexpr std::size_t kRangesMax = 4096;
inline constexpr std::size_t kGroupsMax = 4096;
inline constexpr std::uint32_t kSeatsMax = 1024;                      // Workers that join together.
inline constexpr std::size_t kSettingsMax = std::size_t{256} << 10U;  // Bytes of Seats::settings.
inline constexpr std::size_t kPlaceAddressesMax = 16;                 // A worker has.
inline constexpr std::size_t kPlaceCertificateSize = 16;
inline constexpr std::size_t kGroupKeySize = 32;
inline constexpr std::uint32_t kAheadMax = 256;                       // Mini-batches.
inline constexpr std::uint32_t kStandsForMax = 4096;                  // Workers.
inline constexpr std::size_t kValuesMax = 256;                        // Values of an evaluation.
inline constexpr std::size_t kFrameBytesMax = std::size_t{8} << 20U;  // Bytes of a message.
inline constexpr std::uint64_t kConstantBytesMax = sizeof(float) * kWeightsMax;
inline constexpr std::size_t kStatePartNameMax = 32;
inline constexpr std::size_t kConstantPartMax = std::size_t{4} << 20U;  // Bytes of one message.

}  // namespace outpace::protocol
