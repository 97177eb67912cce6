#include "throughput/packing_rates.h"

#include <cmath>

namespace outpace::throughput {
namespace {

constexpr PackingRate kNoPacking{INFINITY, INFINITY};

// As compress_bench measures them, with 100 MB of float32, what is left behind included.
PackingRate usual(compress::Kind kind) {
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
  return kNoPacking;
}

PackingRate usual(compress::WeightsKind kind) {
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
  return kNoPacking;
}

template <typename Kind>
PackingRate measured_or_usual(const std::map<std::string, PackingRate>& measured, Kind kind) {
  const auto found = measured.find(std::string(compress::name(kind)));
  return found != measured.end() ? found->second : usual(kind);
}

}  // namespace

PackingRate packing_rate(const PackingRates& measured, compress::Kind kind) {
  return measured_or_usual(measured.gradients, kind);
}

PackingRate packing_rate(const PackingRates& measured, compress::WeightsKind kind) {
  return measured_or_usual(measured.weights, kind);
}

}  // namespace outpace::throughput
