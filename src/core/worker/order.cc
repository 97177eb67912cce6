#include "worker/order.h"

#include "base/check.h"
#include "base/rng.h"

namespace outpace::worker {
namespace {

constexpr std::uint64_t kSamplingStream = 0x5a3d;  // Apart from the streams of the epochs.

}  // namespace

std::vector<std::uint64_t> Order::examples(const protocol::Ranges& ranges) {
  std::vector<std::uint64_t> found;
  for (const protocol::Range& range : ranges) {
    for (std::uint64_t position = range.begin; position < range.end; ++position) {
      found.push_back(example(range.epoch, position));
    }
  }
  return found;
}

std::uint64_t Order::example(std::uint64_t epoch, std::uint64_t position) {
  if (with_replacement_) {
    return Rng(mix(seed_ ^ kSamplingStream) + epoch, position).below(examples_);
  }
  auto order = orders_.find(epoch);
  if (order == orders_.end()) {
    constexpr std::size_t kKept = 16;
    if (orders_.size() >= kKept) {
      orders_.erase(orders_.begin());
    }
    order = orders_.emplace(epoch, Permutation(examples_, seed_, epoch)).first;
  }
  return order->second(position);
}

std::uint64_t epoch_at(const protocol::Ranges& ranges, std::uint64_t place) {
  const auto* range = ranges.begin();
  for (; range != ranges.end() && place >= range->size(); ++range) {
    place -= range->size();
  }
  CHECK(range != ranges.end());
  return range->epoch;
}

}  // namespace outpace::worker
