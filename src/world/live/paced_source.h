// A worker that waits instead of computing, as long as iterations of a profile took.
//
// It pushes a gradient of the real size, filled with one small number, over the real network to the
// real server. So one machine can run more workers than it has processors, at realistic speeds, to
// test predictions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "protocol/messages.h"
#include "worker/gradient_source.h"

namespace outpace::live {

// The time of one layer as shares of an iteration's computing, and how many of the manifest's next
// tensors are its weights.
struct PacedLayer {
  double forward;
  double backward;
  std::size_t tensors;
};

struct PacedSourceOptions {
  protocol::Manifest manifest;
  std::uint64_t dataset_examples;  // At least 1.
  std::uint32_t batch;             // Examples to which the seconds belong; at least 1.
  std::vector<double> seconds;     // Drawn from, with replacement; not empty.
  // Without layers: of the seconds, what comes after the last tensor's gradient is there; at
  // most 1. The others come evenly, by their sizes.
  double backward_share = 0.0;
  // In order. A layer's forward time begins when its weights are there, and its gradient is there
  // when its backward time has passed. Empty: all weights are needed at first, and the gradient is
  // there at the end.
  std::vector<PacedLayer> layers = {};
  WorkerId worker;  // Workers of one seed draw differently.
  std::uint64_t seed;
};

[[nodiscard]] std::unique_ptr<worker::GradientSource> make_paced_source(PacedSourceOptions options);

}  // namespace outpace::live
