#include "run/packing_speed.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "compress/feedback.h"
#include "compress/format.h"
#include "compress/pack.h"
#include "compress/reference.h"

namespace outpace::run {
namespace {

using throughput::PackingRate;

// Fewer numbers are packed before the clock has moved much; the rate of more is that of these,
// which no processor has in its cache.
constexpr std::size_t kLeast = 1U << 16U;
constexpr std::size_t kMost = 1U << 23U;
constexpr std::size_t kTimes = 7;

double median_seconds(const std::function<void()>& once) {
  std::vector<double> seconds(kTimes);
  once();  // Its pages are there from here on.
  for (double& took : seconds) {
    const auto begin = std::chrono::steady_clock::now();
    once();
    took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::ranges::nth_element(seconds, seconds.begin() + kTimes / 2);
  return seconds[kTimes / 2];
}

double gigabytes_a_second(std::size_t numbers, const std::function<void()>& once) {
  constexpr double kNanosecond = 1e-9;  // A clock that stands still does not make it infinite.
  return sizeof(float) * 1e-9 * static_cast<double>(numbers) /
         std::max(kNanosecond, median_seconds(once));
}

// With what a push leaves behind.
PackingRate rate_of_pushes(const std::string& format, std::span<const float> gradient) {
  compress::Feedback feedback(compress::Compression::parse(format), gradient.size());
  std::vector<std::byte> packed(compress::packed_bytes(feedback.format(), gradient.size()));
  std::vector<float> unpacked(gradient.size());
  const double pack = gigabytes_a_second(gradient.size(), [&] {
    feedback.pack(0, gradient, packed);
    feedback.accepted();
  });
  const double unpack = gigabytes_a_second(
      gradient.size(), [&] { compress::unpack(feedback.format(), packed, unpacked); });
  return {pack, unpack};
}

// The weights go to a worker that has those of the step before.
PackingRate rate_of_weights(compress::WeightsKind kind,
                            std::span<const float> before,
                            std::span<const float> next) {
  std::vector<float> reference(before.size());
  static_cast<void>(compress::pack_weights(kind, {}, before, reference));
  std::vector<float> now(before.size());
  std::vector<std::byte> packed = compress::pack_weights(kind, reference, next, now);
  const double pack = gigabytes_a_second(
      next.size(), [&] { compress::pack_weights(kind, reference, next, now, packed); });
  const double unpack = gigabytes_a_second(
      next.size(), [&] { compress::unpack_weights(kind, packed, reference, now); });
  return {pack, unpack};
}

std::vector<float> drawn(std::size_t numbers) {
  constexpr double kSize = 1e-3;
  Rng rng(1, 0);
  std::vector<float> all(numbers);
  for (float& number : all) {
    number = static_cast<float>(kSize * rng.normal());
  }
  return all;
}

}  // namespace

throughput::PackingRates measure_packing(std::size_t numbers) {
  const std::vector<float> gradient = drawn(std::clamp(numbers, kLeast, kMost));
  std::vector<float> next = gradient;
  for (std::size_t i = 0; i < next.size(); ++i) {  // A step moves each by a thousandth or so.
    next[i] += 1e-3F * gradient[(i + 1) % next.size()];
  }
  throughput::PackingRates rates;
  for (const compress::Kind kind : {compress::Kind::kBf16,
                                    compress::Kind::kFp16,
                                    compress::Kind::kInt8,
                                    compress::Kind::kInt4,
                                    compress::Kind::kTopK}) {
    const std::string format(compress::name(kind));
    rates.gradients[format] = rate_of_pushes(format, gradient);
  }
  for (const compress::WeightsKind kind : {compress::WeightsKind::kBf16,
                                           compress::WeightsKind::kInt8,
                                           compress::WeightsKind::kDelta}) {
    rates.weights[std::string(compress::name(kind))] = rate_of_weights(kind, gradient, next);
  }
  return rates;
}

}  // namespace outpace::run
