#include "throughput/packing_costs.h"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "base/check.h"
#include "compress/format.h"
#include "compress/reference.h"
#include "sim/packing.h"

namespace outpace::throughput {
namespace {

// GB of float32 a second. Measured on one core of a virtual machine at 2.1 GHz (compress_bench, 100
// MB of float32, what is left behind included).
struct Rates {
  double pack;
  double unpack;
};

Rates gradient_rates(compress::Kind kind) {
  switch (kind) {
    case compress::Kind::kBf16:
      return {8.4, 15.0};
    case compress::Kind::kFp16:
      return {3.5, 11.0};
    case compress::Kind::kInt8:
      return {8.1, 20.0};
    case compress::Kind::kInt4:
      return {6.9, 21.0};
    case compress::Kind::kTopK:
      return {2.4, 17.0};
    case compress::Kind::kNone:
      break;
  }
  return {INFINITY, INFINITY};
}

Rates weights_rates(compress::WeightsKind kind) {
  switch (kind) {
    case compress::WeightsKind::kBf16:
      return {9.0, 21.0};
    case compress::WeightsKind::kInt8:
      return {4.7, 8.2};
    case compress::WeightsKind::kDelta:
      return {2.7, 5.2};
    case compress::WeightsKind::kNone:
      break;
  }
  return {INFINITY, INFINITY};
}

}  // namespace

PackingCosts packing_costs(const job::ModelledPacking& packing, double payload) {
  constexpr double kGigabyte = 1e9;
  const compress::Format format = compress::Compression::parse(packing.gradients.text).format;
  const compress::WeightsKind kind = compress::parse_weights(packing.weights.text);
  const bool packs = format.kind != compress::Kind::kNone;
  const bool packs_weights = kind != compress::WeightsKind::kNone;
  const auto seconds = [&](bool packed, double measured) {
    return packed ? payload / (kGigabyte * packing.rate.value_or(measured)) : 0.0;
  };
  const auto numbers = static_cast<std::size_t>(std::ceil(payload / sizeof(float)));
  const auto share = [&](bool packed, std::size_t bytes) {
    return packed && payload > 0.0 ? static_cast<double>(bytes) / payload : 1.0;
  };
  const Rates gradient = gradient_rates(format.kind);
  const Rates weights = weights_rates(kind);
  return {
      .gradient_share = share(packs, compress::packed_bytes(format, numbers)),
      .weights_share = share(packs_weights, sim::weights_bytes(kind, numbers, /*newcomer=*/false)),
      .worker_seconds = seconds(packs, gradient.pack) + seconds(packs_weights, weights.unpack),
      .gradient_seconds = seconds(packs, gradient.unpack),
      .weights_seconds = seconds(packs_weights, weights.pack),
      .all_change = kind == compress::WeightsKind::kDelta,
      .pack_seconds = seconds(packs, gradient.pack)};
}

double PackingCosts::ring_seconds(std::uint32_t workers) const {
  CHECK(workers > 0);
  return workers == 1 ? 0.0 : pack_seconds + (2.0 - 1.0 / workers) * gradient_seconds;
}

PackingCosts PackingCosts::shared_by(std::uint32_t workers) const {
  CHECK(workers > 0);
  PackingCosts costs = *this;
  costs.weights_seconds /= workers;
  return costs;
}

std::string PackingCosts::words(bool server) const {
  constexpr double kPercent = 100.0;
  constexpr double kMilli = 1e3;
  if (worker_seconds == 0.0) {
    return "";
  }
  if (!server) {
    return fmt::format(
        "what workers send each other takes {:.3g} % of its bytes as float32; to pack a whole "
        "payload takes {:.2g} ms, and to unpack it {:.2g} ms",
        kPercent * gradient_share,
        kMilli * pack_seconds,
        kMilli * gradient_seconds);
  }
  return fmt::format(
      "a gradient takes {:.3g} % of its bytes as float32, and the weights {:.3g} %{}; packing "
      "costs a worker {:.2g} ms an iteration, and the server {:.2g} ms a gradient "
      "and {:.2g} ms for weights",
      kPercent * gradient_share,
      kPercent * weights_share,
      all_change ? ", if all of them change" : "",
      kMilli * worker_seconds,
      kMilli * gradient_seconds,
      kMilli * weights_seconds);
}

}  // namespace outpace::throughput
