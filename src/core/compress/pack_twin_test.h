// For tests: a second pack() and unpack(), number by number and bit by bit, with no loop that a
// compiler could vectorise and in double, which rounds nothing here. And numbers to pack.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "compress/format.h"

namespace outpace::compress {

class PackTwin {
 public:
  explicit PackTwin(const Format& format) : format_(format) {}

  [[nodiscard]] std::vector<std::byte> pack(const std::vector<float>& numbers) {
    bits_.clear();
    scales_.clear();
    const std::size_t unit = together();
    for (std::size_t begin = 0; begin < numbers.size(); begin += unit) {
      const std::size_t end = std::min(begin + unit, numbers.size());
      pack_unit({numbers.begin() + static_cast<std::ptrdiff_t>(begin),
                 numbers.begin() + static_cast<std::ptrdiff_t>(end)});
    }
    std::vector<std::byte> bytes;
    for (std::size_t at = 0; at < bits_.size(); at += 8) {
      unsigned byte = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        byte |= bits_[at + i] ? 1U << i : 0U;
      }
      bytes.push_back(static_cast<std::byte>(byte));
    }
    return bytes;
  }
  [[nodiscard]] std::vector<float> unpack(const std::vector<std::byte>& bytes,
                                          std::size_t numbers) {
    bits_.clear();
    for (const std::byte byte : bytes) {
      put(std::to_integer<unsigned>(byte), 8);
    }
    at_ = 0;
    std::vector<float> unpacked;
    const std::size_t unit = together();
    for (std::size_t left = numbers; left > 0; left -= std::min(unit, left)) {
      const std::vector<float> more = unpack_unit(std::min(unit, left));
      unpacked.insert(unpacked.end(), more.begin(), more.end());
    }
    return unpacked;
  }
  // Those of the last pack(), a block or chunk each.
  [[nodiscard]] const std::vector<double>& scales() const { return scales_; }
  [[nodiscard]] std::size_t together() const {  // Numbers that share a scale.
    switch (format_.kind) {
      case Kind::kInt8:
      case Kind::kInt4:
        return 64;
      case Kind::kTopK:
        return 4096;
      default:
        return 1;
    }
  }

 private:
  void put(std::uint64_t value, int bits) {
    for (int i = 0; i < bits; ++i) {
      bits_.push_back((value >> static_cast<unsigned>(i) & 1U) != 0);
    }
  }
  [[nodiscard]] std::uint32_t get(int bits) {
    std::uint32_t value = 0;
    for (int i = 0; i < bits; ++i) {
      value |= bits_.at(at_++) ? 1U << static_cast<unsigned>(i) : 0U;
    }
    return value;
  }
  void pad() {
    while (bits_.size() % 8 != 0) {
      bits_.push_back(false);
    }
  }
  void skip_padding() { at_ += (8 - at_ % 8) % 8; }

  // A float of `exponent_bits` and `digits` bits of fraction, as IEEE 754 has it.
  [[nodiscard]] static double decode(std::uint32_t bits, int exponent_bits, int digits) {
    const bool negative = (bits >> static_cast<unsigned>(exponent_bits + digits) & 1U) != 0;
    const auto fraction = static_cast<double>(bits & ((1U << static_cast<unsigned>(digits)) - 1));
    const int most = (1 << exponent_bits) - 1;
    const int exponent = static_cast<int>(bits >> static_cast<unsigned>(digits)) & most;
    const int bias = most / 2;
    double value = 0.0;
    if (exponent == most) {
      value = fraction == 0.0 ? INFINITY : NAN;
    } else if (exponent == 0) {
      value = std::ldexp(fraction, 1 - bias - digits);
    } else {
      value = std::ldexp(fraction + std::ldexp(1.0, digits), exponent - bias - digits);
    }
    return negative ? -value : value;
  }
  // The nearest, an even one of two. Bits of larger magnitudes are larger, so that they are
  // searched.
  [[nodiscard]] static std::uint32_t encode(double value, int exponent_bits, int digits) {
    const auto sign = static_cast<std::uint32_t>(std::signbit(value) ? 1 : 0)
                      << static_cast<unsigned>(exponent_bits + digits);
    const double magnitude = std::abs(value);
    std::uint32_t low = 0;
    std::uint32_t high = ((1U << static_cast<unsigned>(exponent_bits)) - 1)
                         << static_cast<unsigned>(digits);  // Infinity.
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (decode(middle, exponent_bits, digits) <= magnitude ? low : high) = middle;
    }
    const double below = decode(low, exponent_bits, digits);
    const double ulp = below - (low > 0 ? decode(low - 1, exponent_bits, digits) : -1.0);
    const double next = decode(high, exponent_bits, digits);
    const double above = std::isinf(next) ? below + ulp : next;
    const double half = (above - below) / 2;
    const bool up = magnitude - below > half || (magnitude - below == half && low % 2 == 1);
    return sign | (std::isinf(magnitude) || up ? high : low);
  }

  void pack_unit(const std::vector<float>& numbers) {
    switch (format_.kind) {
      case Kind::kNone: {
        std::uint32_t bits = 0;
        std::memcpy(&bits, numbers.data(), 4);
        return put(bits, 32);
      }
      case Kind::kBf16:
        return put(std::isnan(numbers[0]) ? 0 : encode(double{numbers[0]}, 8, 7), 16);
      case Kind::kFp16: {
        const double most = std::isinf(numbers[0]) ? INFINITY : 65504.0;
        const double value = std::clamp(double{numbers[0]}, -most, most);
        return put(std::isnan(numbers[0]) ? 0 : encode(value, 5, 10), 16);
      }
      case Kind::kInt8:
        return pack_block(numbers, 127, 8);
      case Kind::kInt4:
        return pack_block(numbers, 7, 4);
      case Kind::kTopK:
        return pack_chunk(numbers);
    }
  }
  // The least that does, by trying all.
  double put_scale(const std::vector<float>& numbers, double levels) {
    double peak = 0.0;
    bool finite = true;
    for (const float number : numbers) {
      peak = std::max(peak, std::abs(double{number}));
      finite = finite && std::isfinite(number);
    }
    std::uint32_t bits = 0x0080;
    while (finite && decode(bits, 8, 7) * levels < peak) {
      ++bits;
    }
    bits = peak == 0.0 ? 0 : bits;
    finite = finite && decode(bits, 8, 7) * levels <= double{std::numeric_limits<float>::max()};
    put(finite ? bits : 0x7fc0, 16);
    scales_.push_back(finite ? decode(bits, 8, 7) : NAN);
    return scales_.back();
  }
  void pack_block(const std::vector<float>& numbers, int levels, int bits) {
    const double scale = put_scale(numbers, levels);
    for (const float number : numbers) {
      const double code = scale > 0 ? std::nearbyint(double{number} / scale) : 0.0;
      put(static_cast<std::uint64_t>(static_cast<std::int64_t>(code)), bits);
    }
    pad();
  }
  void pack_chunk(const std::vector<float>& numbers) {
    const int levels = (1 << format_.bits) - 1;
    const double scale = put_scale(numbers, levels);
    std::vector<std::size_t> places(numbers.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return magnitude_of(numbers[a]) > magnitude_of(numbers[b]);
    });
    places.resize((format_.kept * numbers.size() + 4095) / 4096);
    std::sort(places.begin(), places.end());
    for (const std::size_t place : places) {
      put(place, 12);
    }
    pad();
    for (const std::size_t place : places) {
      int best = 1 << (format_.bits - 1);  // The nearest level, an upper one of two.
      for (int code = 0; code <= levels && scale > 0; ++code) {
        const auto distance = [&](int one) {
          return std::abs(scale * (2 * one - levels) - double{numbers[place]});
        };
        best = code == 0 || distance(code) <= distance(best) ? code : best;
      }
      put(static_cast<std::uint64_t>(best), static_cast<int>(format_.bits));
    }
    pad();
  }
  [[nodiscard]] static double magnitude_of(float number) {
    return std::isnan(number) ? INFINITY : std::abs(double{number});
  }

  std::vector<float> unpack_unit(std::size_t count) {
    std::vector<float> numbers(count, 0.0F);
    switch (format_.kind) {
      case Kind::kNone: {
        const std::uint32_t bits = get(32);
        std::memcpy(numbers.data(), &bits, 4);
        break;
      }
      case Kind::kBf16:
        numbers[0] = static_cast<float>(decode(get(16), 8, 7));
        break;
      case Kind::kFp16:
        numbers[0] = static_cast<float>(decode(get(16), 5, 10));
        break;
      case Kind::kInt8:
      case Kind::kInt4: {
        const int bits = format_.kind == Kind::kInt8 ? 8 : 4;
        const double scale = decode(get(16), 8, 7);
        for (float& number : numbers) {
          const auto code = static_cast<int>(get(bits));
          number = static_cast<float>(scale * (code < 1 << (bits - 1) ? code : code - (1 << bits)));
        }
        skip_padding();
        break;
      }
      case Kind::kTopK: {
        const double scale = decode(get(16), 8, 7);
        std::vector<std::size_t> places((format_.kept * count + 4095) / 4096);
        for (std::size_t& place : places) {
          place = get(12);
        }
        skip_padding();
        for (const std::size_t place : places) {
          const int code = static_cast<int>(get(static_cast<int>(format_.bits)));
          numbers.at(place) = static_cast<float>(scale * (2 * code + 1 - (1 << format_.bits)));
        }
        skip_padding();
      }
    }
    return numbers;
  }

  Format format_;
  std::vector<bool> bits_;
  std::size_t at_ = 0;
  std::vector<double> scales_;
};

// Random numbers of one of many kinds: of one size or many, with ties, subnormal, huge, or zeros;
// rarely one that is not finite, if `any`.
inline std::vector<float> numbers_to_pack(Rng& rng, std::size_t count, bool any) {
  std::vector<float> numbers(count);
  const std::uint64_t mixture = rng.below(6);
  const double size = std::pow(2.0, 80.0 * rng.uniform() - 60.0);
  for (float& number : numbers) {
    double value = size * rng.normal();
    if (mixture == 0) {
      value *= std::pow(10.0, -8.0 * rng.uniform());
    } else if (mixture == 1) {
      value = static_cast<double>(rng.below(15)) / 2 - 3.5;
    } else if (mixture == 2) {
      value = 1e-40 * rng.normal();
    } else if (mixture == 3) {
      value = 3.4e38 * (2 * rng.uniform() - 1);
    } else if (mixture == 4 && rng.below(20) > 0) {
      value = 0.0;
    }
    number = static_cast<float>(value);
  }
  if (any && count > 0 && rng.below(8) == 0) {
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    const float odd[] = {kInfinite, -kInfinite, std::nanf("")};
    numbers[rng.below(count)] = odd[rng.below(3)];
  }
  return numbers;
}

}  // namespace outpace::compress
