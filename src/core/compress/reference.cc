#include "compress/reference.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "compress/delta.h"
#include "compress/format.h"
#include "compress/pack.h"
#include "compress/scale.h"

namespace outpace::compress {
namespace {

const std::array<std::string, 4> kWeightsNames = {"none", "bf16", "int8", "delta"};

constexpr Format kEight{.kind = Kind::kInt8};

// How a kind sends all numbers: to a newcomer, and without a reference.
Format whole_format(WeightsKind kind) {
  const bool full = kind == WeightsKind::kNone || kind == WeightsKind::kInt8;
  return {.kind = full ? Kind::kNone : Kind::kBf16};
}

bool sends_whole(WeightsKind kind, std::span<const float> reference) {
  return kind == WeightsKind::kNone || kind == WeightsKind::kBf16 || reference.empty();
}

// now = reference + packed. A sum of NaN may have any of their bits, so that ours are set.
void move_by(std::span<const std::byte> packed,
             std::span<const float> reference,
             std::span<float> now) {
  unpack(kEight, packed, now);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const float sum = reference[i] + now[i];
    now[i] = std::isnan(sum) ? std::bit_cast<float>(kNaN) : sum;
  }
}

void pack_moves(std::span<const float> reference,
                std::span<const float> next,
                std::span<float> now,
                std::vector<std::byte>& packed) {
  packed.resize(packed_bytes(kEight, next.size()));
  std::span<std::byte> left(packed);
  std::array<float, kChunk> differences{};
  for (std::size_t begin = 0; begin < next.size(); begin += kChunk) {
    const std::size_t length = std::min(kChunk, next.size() - begin);
    const auto before = reference.subspan(begin, length);
    for (std::size_t i = 0; i < length; ++i) {
      differences[i] = next[begin + i] - before[i];
    }
    const auto chunk = left.first(packed_bytes(kEight, length));
    pack(kEight, std::span(differences).first(length), chunk);
    move_by(chunk, before, now.subspan(begin, length));
    left = left.subspan(chunk.size());
  }
}

void check_size(std::size_t found, std::size_t right) {
  if (found != right) {
    throw Error(
        ExitCode::kFailure,
        "packed weights: " + std::to_string(found) + " bytes; these have " + std::to_string(right));
  }
}

}  // namespace

WeightsKind parse_weights(std::string_view spec) {
  const auto* const found = std::find(kWeightsNames.begin(), kWeightsNames.end(), spec);
  if (found == kWeightsNames.end()) {
    throw usage_error("unknown compression of weights '" + std::string(spec) + "'" +
                      suggestion(spec, kWeightsNames));
  }
  return static_cast<WeightsKind>(found - kWeightsNames.begin());
}

std::string_view name(WeightsKind kind) {
  return kWeightsNames.at(static_cast<std::size_t>(kind));
}

void pack_weights(WeightsKind kind,
                  std::span<const float> reference,
                  std::span<const float> next,
                  std::span<float> now,
                  std::vector<std::byte>& packed) {
  CHECK(next.size() == now.size());
  CHECK(reference.empty() || reference.size() == next.size());
  if (!sends_whole(kind, reference)) {
    return kind == WeightsKind::kInt8 ? pack_moves(reference, next, now, packed)
                                      : pack_delta(reference, next, now, packed);
  }
  const Format format = whole_format(kind);
  packed.resize(packed_bytes(format, next.size()));
  pack(format, next, packed);
  unpack(format, packed, now);
}

std::vector<std::byte> pack_weights(WeightsKind kind,
                                    std::span<const float> reference,
                                    std::span<const float> next,
                                    std::span<float> now) {
  std::vector<std::byte> packed;
  pack_weights(kind, reference, next, now, packed);
  return packed;
}

void unpack_weights(WeightsKind kind,
                    std::span<const std::byte> packed,
                    std::span<const float> reference,
                    std::span<float> now) {
  CHECK(reference.empty() || reference.size() == now.size());
  if (sends_whole(kind, reference)) {
    const Format format = whole_format(kind);
    check_size(packed.size(), packed_bytes(format, now.size()));
    return unpack(format, packed, now);
  }
  if (kind == WeightsKind::kDelta) {
    return unpack_delta(packed, reference, now);
  }
  check_size(packed.size(), packed_bytes(kEight, now.size()));
  move_by(packed, reference, now);
}

std::size_t packed_weights_most(WeightsKind kind, std::size_t numbers) {
  const std::size_t whole = packed_bytes(whole_format(kind), numbers);
  switch (kind) {
    case WeightsKind::kNone:
    case WeightsKind::kBf16:
      return whole;
    case WeightsKind::kInt8:
      return std::max(whole, packed_bytes(kEight, numbers));
    case WeightsKind::kDelta:
      return std::max(whole, packed_delta_most(numbers));
  }
  CHECK(false);
  return 0;
}

}  // namespace outpace::compress
