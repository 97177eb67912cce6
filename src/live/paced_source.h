// A worker that waits instead of computing, as long as iterations of a profile took.
//
// What it pushes is a gradient of the real size, all of the same small number, over the real
// network to the real server: so that more workers than there are processors run honestly on one
// machine, and predictions of them can be judged.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "protocol/messages.h"
#include "worker/gradient_source.h"

namespace outpace::live {

struct PacedSourceOptions {
  protocol::Manifest manifest;
  std::uint64_t dataset_examples;  // At least 1.
  std::uint32_t batch;             // Examples to which the seconds belong; at least 1.
  std::vector<double> seconds;     // Drawn from, with replacement; not empty.
  // Of the seconds, what comes after the last tensor's gradient is there; at most 1. The others
  // come evenly, by their sizes.
  double backward_share = 0.0;
  WorkerId worker;  // Workers of one seed draw differently.
  std::uint64_t seed;
};

[[nodiscard]] std::unique_ptr<worker::GradientSource> make_paced_source(PacedSourceOptions options);

}  // namespace outpace::live
