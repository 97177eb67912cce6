#include "worker/bucket_plan.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace outpace::worker {

std::vector<Bucket> plan_buckets(std::span<const std::size_t> tensors, std::size_t bytes) {
  std::vector<Bucket> buckets;
  std::size_t begin = std::accumulate(tensors.begin(), tensors.end(), std::size_t{0});
  std::size_t end = begin;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    CHECK(tensors[i] >= 1);
    begin -= tensors[i];
    if ((end - begin) * sizeof(float) >= bytes || i == 0) {
      buckets.push_back({begin, end});
      end = begin;
    }
  }
  return buckets;
}

BucketFill::BucketFill(std::span<const std::size_t> tensors, std::size_t bytes)
    : buckets_(plan_buckets(tensors, bytes)), bucket_of_(tensors.size()) {
  tensors_in_.resize(buckets_.size());
  std::size_t bucket = buckets_.size();
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    while (bucket == buckets_.size() || begin >= buckets_[bucket].end) {
      --bucket;  // Tensors are in order from front to back, buckets from back to front.
    }
    bucket_of_[i] = bucket;
    ++tensors_in_[bucket];
    begin += tensors[i];
  }
  restart();
}

void BucketFill::restart() {
  missing_ = tensors_in_;
  next_ = 0;
}

std::span<const Bucket> BucketFill::add(std::size_t tensor) {
  std::size_t& missing = missing_[bucket_of_.at(tensor)];
  CHECK(missing >= 1);
  --missing;
  const std::size_t first = next_;
  while (next_ < buckets_.size() && missing_[next_] == 0) {
    ++next_;
  }
  return std::span(buckets_).subspan(first, next_ - first);
}

}  // namespace outpace::worker
