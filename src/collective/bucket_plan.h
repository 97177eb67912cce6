// Which parts of a gradient are summed over the workers together, and when a part may go out.
//
// A backward pass gives the gradients of the last layers first. A bucket is a run of neighbouring
// tensors that holds at least so many bytes; the first bucket is the end of the network. It goes
// out as soon as all its tensors are there and the bucket before it went out, while the pass goes
// on: all workers then begin their sums in the same order, whatever the order of their tensors.
// Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020,
// section 3.2.3.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace outpace::collective {

// Numbers [begin, end) of the flat gradient.
struct Bucket {
  std::size_t begin;
  std::size_t end;

  bool operator==(const Bucket&) const = default;
};

// The buckets of tensors of these sizes (numbers, in their order), the last tensors first. Each has
// at least `bytes` of float32 numbers, but perhaps the last bucket, which is the network's front.
// REQUIRES: every size is at least 1.
[[nodiscard]] std::vector<Bucket> plan_buckets(std::span<const std::size_t> tensors,
                                               std::size_t bytes);

// One backward pass after the other.
class BucketFill {
 public:
  // REQUIRES: as plan_buckets().
  BucketFill(std::span<const std::size_t> tensors, std::size_t bytes);

  // A new pass: nothing is there.
  void restart();
  // Tensor `tensor` is there: the buckets that may go out now, in order.
  // REQUIRES: it was not there before.
  [[nodiscard]] std::span<const Bucket> add(std::size_t tensor);
  // Every bucket has gone out.
  [[nodiscard]] bool complete() const { return next_ == buckets_.size(); }

 private:
  // Constant after construction.
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;   // By tensor.
  std::vector<std::size_t> tensors_in_;  // By bucket.
  // State.
  std::vector<std::size_t> missing_;  // Tensors, by bucket.
  std::size_t next_ = 0;              // The first bucket that has not gone out.
};

}  // namespace outpace::collective
