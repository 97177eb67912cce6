// Splits a gradient into buckets that are summed over the workers, and tells when each can be sent.
//
// A backward pass yields the gradients of the last layers first. A bucket is a run of adjacent
// tensors with at least a given number of bytes; the first bucket is the end of the network. It is
// sent, while the pass goes on, as soon as all its tensors are complete and the bucket before it
// was sent. All workers thus start their sums in the same order, whatever the order of their
// tensors. Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training",
// VLDB 2020, section 3.2.3.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace outpace::worker {

// Numbers [begin, end) of the flat gradient.
struct Bucket {
  std::size_t begin;
  std::size_t end;

  bool operator==(const Bucket&) const = default;
};

// Plans the buckets of tensors of these sizes (numbers per tensor, in order), the last tensors
// first. Each has at least `bytes` of float32 numbers, except possibly the last bucket, the front
// of the network. REQUIRES: every size is at least 1.
[[nodiscard]] std::vector<Bucket> plan_buckets(std::span<const std::size_t> tensors,
                                               std::size_t bytes);

// Tracks which buckets of a backward pass are complete.
class BucketFill {
 public:
  // REQUIRES: as plan_buckets().
  BucketFill(std::span<const std::size_t> tensors, std::size_t bytes);

  // Starts a new pass without any tensor.
  void restart();
  // Tensor `tensor` is complete. Returns the buckets that can be sent now, in order. REQUIRES: it
  // was not complete before.
  [[nodiscard]] std::span<const Bucket> add(std::size_t tensor);
  // Whether every bucket was sent.
  [[nodiscard]] bool complete() const { return next_ == buckets_.size(); }

 private:
  // Constant after construction.
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;   // By tensor.
  std::vector<std::size_t> tensors_in_;  // By bucket.
  // State.
  std::vector<std::size_t> missing_;  // Number of incomplete tensors, by bucket.
  std::size_t next_ = 0;              // The first bucket that was not sent.
};

}  // namespace outpace::worker
