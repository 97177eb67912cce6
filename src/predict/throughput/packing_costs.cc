#include "throughput/packing_costs.h"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "base/check.h"
#include "compress/format.h"
#include "compress/reference.h"
#include "sim/packing.h"

namespace outpace::throughput {
PackingCosts packing_costs(const job::ModelledPacking& packing,
                           double payload,
                           const PackingRates& measured) {
  constexpr double kGigabyte = 1e9;
  const compress::Format format = compress::Compression::parse(packing.gradients.text).format;
  const compress::WeightsKind kind = compress::parse_weights(packing.weights.text);
  const bool packs = format.kind != compress::Kind::kNone;
  const bool packs_weights = kind != compress::WeightsKind::kNone;
  const auto seconds = [&](bool packed, double rate) {
    return packed ? payload / (kGigabyte * packing.rate.value_or(rate)) : 0.0;
  };
  const auto numbers = static_cast<std::size_t>(std::ceil(payload / sizeof(float)));
  const auto share = [&](bool packed, std::size_t bytes) {
    return packed && payload > 0.0 ? static_cast<double>(bytes) / payload : 1.0;
  };
  const PackingRate gradient = packing_rate(measured, format.kind);
  const PackingRate weights = packing_rate(measured, kind);
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
