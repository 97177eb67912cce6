// The elementary operations of an iteration, from a profile: which layers have which tensors, in
// which pieces weights come, and in which slices or buckets gradients go.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/overlap.h"
#include "throughput/measured_profile.h"

namespace outpace::throughput {

// A layer's times as shares of an iteration's computing, and its numbers.
struct LayerShare {
  double forward;
  double backward;
  std::size_t tensors;  // The next ones of the manifest.
  std::uint64_t numbers;
};

// The layers, joined with their tensors. A profile that does not say which tensors a layer has is
// taken to have one layer for each tensor: with the times of the profile's layers if it has as many
// of them, else with a part of all time by the tensor's size. Empty if the profile has no layers,
// or if they take no time. All shares add up to 1.
[[nodiscard]] std::vector<LayerShare> join_layers(const MeasuredProfile& profile);

// Notes in the profile which tensors each layer has. `needs`: how many of the network's numbers
// each layer's forward pass needs, with those of the layers before. Changes nothing if the layers
// or the tensors are others.
void tell_tensors(MeasuredProfile& profile, const std::vector<std::size_t>& needs);

// How transfers overlap with computing when gradients go out in slices of at least `slice_bytes`
// (--slice of train), or nothing if they go out whole: with 0 bytes, without layers, and if the
// gradient is one slice. Weights then come in records of a sixteenth of the payload, from 16 to 256
// KiB, and a layer needs the record that has its last byte (docs/wire.md). A network with many
// layers has at most 32 pieces and slices that are smaller than a layer: smaller ones are joined.
[[nodiscard]] std::optional<sim::Overlap> overlap_of(const MeasuredProfile& profile,
                                                     std::uint64_t slice_bytes);

// With at most three pieces and three slices, for a fast prediction. At a constant rate of the link
// an iteration ends at the maximum, over the pieces, of a linear function of the time of a byte,
// and so does the gradient's way over the slices. So only the pieces and slices on the hull of
// (bytes, time) can delay anything; those that are furthest from the straight line are kept.
[[nodiscard]] sim::Overlap simplified(const sim::Overlap& overlap);

// The same with gradients and weights that are packed, to shares of their bytes.
[[nodiscard]] sim::Overlap packed(sim::Overlap overlap,
                                  double gradient_share,
                                  double weights_share);

// Whole transfers in the same words: all weights come before the pass, and the gradient goes after
// it.
[[nodiscard]] sim::Overlap whole_transfers(const MeasuredProfile& profile);

// A bucket of a ring's gradient: after which share of an iteration's computing it is complete, and
// its share of the payload.
struct BucketShare {
  double ready;
  double bytes;
};
// In the order of the backward pass; the last one has `ready` 1.
[[nodiscard]] std::vector<BucketShare> buckets_of(const MeasuredProfile& profile,
                                                  std::uint64_t bucket_bytes);

}  // namespace outpace::throughput
