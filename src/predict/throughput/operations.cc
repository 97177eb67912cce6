#include "throughput/operations.h"

#include <algorithm>
#include <cmath>

#include "worker/bucket_plan.h"
#include "worker/slices.h"

namespace outpace::throughput {
namespace {

constexpr double kBytesOfFloat = 4.0;
// A prediction simulates millions of transfers. A piece that is a thirty-second of the payload
// moves the end of an iteration by no more than that part of a transfer.
constexpr double kPartsMost = 32.0;

double record_bytes(double payload) {
  constexpr double kKib = 1024.0;
  constexpr double kRecords = 16.0;
  const double record = std::clamp(payload / kRecords, 16.0 * kKib, 256.0 * kKib);
  return std::max(record, payload / kPartsMost);
}

std::vector<sim::Overlap::Piece> pieces_of(const std::vector<LayerShare>& layers, double payload) {
  const double record = record_bytes(payload);
  std::vector<sim::Overlap::Piece> pieces;
  double end = 0.0;   // Where the layer's weights end.
  double sent = 0.0;  // With the pieces so far.
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    end += kBytesOfFloat * static_cast<double>(layers[layer].numbers);
    if (pieces.empty() && record < payload) {  // A worker wakes up when the first record is there.
      pieces.push_back({record, layer});
      sent = record;
    }
    const double cut = std::min(payload, record * std::ceil(end / record));
    if (cut > sent) {
      pieces.push_back({cut - sent, layer});
      sent = cut;
    }
  }
  return pieces;
}

std::vector<sim::Overlap::Slice> slices_of(const std::vector<LayerShare>& layers,
                                           double payload,
                                           std::uint64_t slice_bytes) {
  const double least = std::max(static_cast<double>(slice_bytes), payload / kPartsMost);
  const auto numbers = static_cast<std::size_t>(payload / kBytesOfFloat);
  worker::Slices plan(numbers, static_cast<std::size_t>(std::ceil(least / kBytesOfFloat)));
  std::vector<sim::Overlap::Slice> slices;
  std::size_t end = numbers;
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    const std::size_t begin = end - layers[layer].numbers;
    const auto slice = begin < end ? plan.add(begin, end) : std::nullopt;
    if (slice) {
      slices.push_back({kBytesOfFloat * static_cast<double>(slice->end - slice->begin), layer});
    }
    end = begin;
  }
  slices.push_back({kBytesOfFloat * static_cast<double>(plan.unsent()), 0});
  return slices;
}

struct BytesAndTime {
  double bytes;
  double time;
};

// The first point, the last one, and the one furthest above the line between them, if there is one.
std::vector<std::size_t> bent(const std::vector<BytesAndTime>& points) {
  constexpr double kStraight = 1e-3;  // The share of an iteration's computing.
  std::vector<std::size_t> kept{0};
  const BytesAndTime& first = points.front();
  const BytesAndTime& last = points.back();
  double furthest = kStraight;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double share = (points[i].bytes - first.bytes) / (last.bytes - first.bytes);
    const double above = points[i].time - (first.time + share * (last.time - first.time));
    if (above > furthest) {
      furthest = above;
      kept.resize(1);
      kept.push_back(i);
    }
  }
  if (points.size() > 1) {
    kept.push_back(points.size() - 1);
  }
  return kept;
}

// `seconds`: of all layers.
std::vector<LayerShare> joined_as_told(const MeasuredProfile& profile, double seconds) {
  std::vector<LayerShare> layers;
  std::size_t tensor = 0;
  for (const MeasuredLayer& layer : profile.layers) {
    LayerShare share{.forward = layer.forward_seconds / seconds,
                     .backward = layer.backward_seconds / seconds,
                     .tensors = *layer.tensors,
                     .numbers = 0};
    for (const std::size_t end = tensor + *layer.tensors; tensor < end; ++tensor) {
      share.numbers += profile.manifest.tensors[tensor].numbers();
    }
    layers.push_back(share);
  }
  return layers;
}

}  // namespace

std::vector<LayerShare> join_layers(const MeasuredProfile& profile) {
  MeasuredLayer all{};
  std::size_t known = 0;
  for (const MeasuredLayer& layer : profile.layers) {
    all.forward_seconds += layer.forward_seconds;
    all.backward_seconds += layer.backward_seconds;
    known += layer.tensors ? 1U : 0U;
  }
  const double seconds = all.forward_seconds + all.backward_seconds;
  if (seconds <= 0.0) {
    return {};
  }
  if (known == profile.layers.size()) {
    return joined_as_told(profile, seconds);
  }
  const std::vector<protocol::TensorInfo>& tensors = profile.manifest.tensors;
  const bool each = profile.layers.size() == tensors.size();
  std::vector<LayerShare> layers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const MeasuredLayer& times = each ? profile.layers[i] : all;
    const double share = each ? 1.0
                              : static_cast<double>(tensors[i].numbers()) /
                                    static_cast<double>(profile.manifest.numbers());
    layers.push_back({.forward = share * times.forward_seconds / seconds,
                      .backward = share * times.backward_seconds / seconds,
                      .tensors = 1,
                      .numbers = tensors[i].numbers()});
  }
  return layers;
}

void tell_tensors(MeasuredProfile& profile, const std::vector<std::size_t>& needs) {
  if (needs.size() != profile.layers.size() || needs.empty() ||
      needs.back() != profile.manifest.numbers()) {
    return;
  }
  std::vector<std::size_t> counts;
  std::size_t tensor = 0;
  std::size_t numbers = 0;
  for (const std::size_t end : needs) {
    const std::size_t first = tensor;
    while (numbers < end && tensor < profile.manifest.tensors.size()) {
      numbers += profile.manifest.tensors[tensor++].numbers();
    }
    if (numbers != end) {
      return;
    }
    counts.push_back(tensor - first);
  }
  for (std::size_t layer = 0; layer < counts.size(); ++layer) {
    profile.layers[layer].tensors = counts[layer];
  }
}

std::optional<sim::Overlap> overlap_of(const MeasuredProfile& profile, std::uint64_t slice_bytes) {
  const std::vector<LayerShare> layers = join_layers(profile);
  if (slice_bytes == 0 || layers.empty()) {
    return std::nullopt;
  }
  const double payload = profile.payload_bytes();
  sim::Overlap overlap;
  for (const LayerShare& layer : layers) {
    overlap.layers.push_back({.forward = layer.forward, .backward = layer.backward});
  }
  overlap.pieces = pieces_of(layers, payload);
  overlap.slices = slices_of(layers, payload, slice_bytes);
  return overlap;
}

sim::Overlap simplified(const sim::Overlap& overlap) {
  sim::Overlap simple{.layers = overlap.layers, .pieces = {}, .slices = {}};
  // A late piece counts more, the earlier it is needed.
  std::vector<BytesAndTime> arrive;
  double bytes = 0.0;
  for (const sim::Overlap::Piece& piece : overlap.pieces) {
    bytes += piece.bytes;
    arrive.push_back({bytes, -overlap.before_forward(piece.layer)});
  }
  double sent = 0.0;
  for (const std::size_t i : bent(arrive)) {
    simple.pieces.push_back({arrive[i].bytes - sent, overlap.pieces[i].layer});
    sent = arrive[i].bytes;
  }
  std::vector<BytesAndTime> ready;
  bytes = 0.0;
  for (const sim::Overlap::Slice& slice : overlap.slices) {
    ready.push_back({bytes, -overlap.after_backward(slice.layer)});
    bytes += slice.bytes;
  }
  const std::vector<std::size_t> kept = bent(ready);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const double end = i + 1 < kept.size() ? ready[kept[i + 1]].bytes : bytes;
    simple.slices.push_back({end - ready[kept[i]].bytes, overlap.slices[kept[i]].layer});
  }
  return simple;
}

sim::Overlap packed(sim::Overlap overlap, double gradient_share, double weights_share) {
  for (sim::Overlap::Piece& piece : overlap.pieces) {
    piece.bytes *= weights_share;
  }
  for (sim::Overlap::Slice& slice : overlap.slices) {
    slice.bytes *= gradient_share;
  }
  return overlap;
}

sim::Overlap whole_transfers(const MeasuredProfile& profile) {
  const double payload = profile.payload_bytes();
  sim::Overlap overlap{.layers = {},
                       .pieces = {{.bytes = payload, .layer = 0}},
                       .slices = {{.bytes = payload, .layer = 0}}};
  for (const LayerShare& layer : join_layers(profile)) {
    overlap.layers.push_back({.forward = layer.forward, .backward = layer.backward});
  }
  if (overlap.layers.empty()) {
    overlap.layers.push_back({.forward = 1.0, .backward = 0.0});
  }
  return overlap;
}

std::vector<BucketShare> buckets_of(const MeasuredProfile& profile, std::uint64_t bucket_bytes) {
  const std::vector<std::size_t> sizes = profile.manifest.sizes();
  // After which share of computing the gradient of each tensor is there.
  std::vector<double> ready;
  double behind = 0.0;
  for (const LayerShare& layer : join_layers(profile)) {
    ready.insert(ready.end(), layer.tensors, 1.0 - behind);
    behind += layer.backward;
  }
  ready.resize(sizes.size(), 1.0);
  std::vector<BucketShare> buckets;
  std::size_t tensor = sizes.size();
  std::size_t begin = profile.manifest.numbers();
  for (const worker::Bucket& bucket : worker::plan_buckets(sizes, bucket_bytes)) {
    while (begin > bucket.begin) {
      begin -= sizes[--tensor];
    }
    buckets.push_back({.ready = ready[tensor],
                       .bytes = static_cast<double>(bucket.end - bucket.begin) /
                                static_cast<double>(profile.manifest.numbers())});
  }
  return buckets;
}

}  // namespace outpace::throughput
