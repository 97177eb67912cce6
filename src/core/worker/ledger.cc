#include "worker/ledger.h"

#include <algorithm>
#include <limits>
#include <string>

namespace outpace::worker {

protocol::Manifest Ledger::manifest_of(std::uint64_t examples, std::uint64_t tensors) {
  protocol::Manifest manifest;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    manifest.tensors.push_back({.name = tensors == 1 ? "ledger" : "ledger" + std::to_string(i),
                                .shape = {examples * (i + 1) / tensors - examples * i / tensors}});
  }
  return manifest;
}

std::optional<double> Ledger::compute(std::span<const float> /*weights*/,
                                      std::span<const std::uint64_t> examples,
                                      std::span<float> gradient,
                                      const Cancelled& cancelled) {
  if (cancelled()) {
    return std::nullopt;
  }
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  for (const std::uint64_t example : examples) {
    gradient[example] += 1.0F / static_cast<float>(examples.size());
  }
  ++computed_;
  if (broken_every_ != 0 && computed_ % broken_every_ == 0) {
    gradient.back() = std::numeric_limits<float>::quiet_NaN();
  }
  return 1.0;
}

}  // namespace outpace::worker
