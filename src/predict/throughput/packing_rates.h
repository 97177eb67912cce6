// How fast one core packs and unpacks numbers, by format.

#pragma once

#include <map>
#include <string>

#include "compress/format.h"
#include "compress/reference.h"

namespace outpace::throughput {

// GB of float32 a second.
struct PackingRate {
  double pack;
  double unpack;

  bool operator==(const PackingRate&) const = default;
};

// By the name of a kind of format: "int8". Those that lack were not measured.
struct PackingRates {
  std::map<std::string, PackingRate> gradients;
  std::map<std::string, PackingRate> weights;

  [[nodiscard]] bool empty() const { return gradients.empty() && weights.empty(); }
  bool operator==(const PackingRates&) const = default;
};

// The measured rate, or else that of one core of a virtual machine at 2.1 GHz; infinite if nothing
// is packed.
[[nodiscard]] PackingRate packing_rate(const PackingRates& measured, compress::Kind kind);
[[nodiscard]] PackingRate packing_rate(const PackingRates& measured, compress::WeightsKind kind);

}  // namespace outpace::throughput
