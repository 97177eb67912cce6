// How numbers are written in fewer bytes, and what a user asks for. The size of packed numbers
// follows from the format and how many they are, so that a receiver knows it before it allocates.
// The bytes are in docs/wire.md, "Packed numbers".

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outpace::compress {

// The values are those on the wire: never renumber.
enum class Kind : std::uint8_t { kNone, kBf16, kFp16, kInt8, kInt4, kTopK };

struct Format {
  Kind kind = Kind::kNone;
  std::uint32_t kept = 0;  // kTopK: numbers kept of each full chunk, from 1 to kChunk; else 0.
  std::uint32_t bits = 0;  // kTopK: of each value: 2, 4 or 8; else 0.
  bool operator==(const Format&) const = default;
};

inline constexpr std::size_t kBlock = 64;    // Numbers that share a scale (int8, int4).
inline constexpr std::size_t kChunk = 4096;  // Numbers of a chunk of top-k.

[[nodiscard]] std::string_view name(Kind kind);
// Why a peer's format is none of ours, in words; empty if it is.
[[nodiscard]] std::string why_not(const Format& format);
// REQUIRES: why_not(format) is empty.
[[nodiscard]] std::size_t packed_bytes(const Format& format, std::size_t numbers);
// The numbers that top-k keeps of a chunk with `length` numbers; at least one.
[[nodiscard]] constexpr std::size_t kept_of(const Format& format, std::size_t length) {
  return (format.kept * length + kChunk - 1) / kChunk;
}

// What a user asks for a push: "none", "bf16", "fp16", "int8", "int4" or "topk:share=0.02,bits=2",
// each but the first with ",feedback=B".
struct Compression {
  Format format;
  // The share, from 0 to 1, of what a push left behind that counts with the next one. With 0 it is
  // lost.
  double feedback = 1.0;

  // A usage error if it is none of these.
  static Compression parse(std::string_view spec);
  // The spec: parse(name()) is this one again.
  [[nodiscard]] std::string name() const;
  // Whether a push leaves something behind that counts later.
  [[nodiscard]] bool leaves_behind() const { return format.kind != Kind::kNone && feedback > 0.0; }
  bool operator==(const Compression&) const = default;
};

}  // namespace outpace::compress
