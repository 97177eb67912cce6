// The life of a worker in a ring: synchronous SGD without a server.
//
// All workers have the same weights. For each update a worker computes the gradient of its share of
// the next examples (batch_plan.h), the workers sum their gradients bucket by bucket while the
// backward passes go on (bucket_plan.h), and each does the same step with the same mean. By a ring
// all-reduce of W workers, each sends and receives 2 (W - 1) / W of the gradient, in 2 (W - 1)
// steps: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", J. Parallel Distrib. Comput. 69 (2009), section 3.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "collective/batch_plan.h"
#include "collective/bucket_plan.h"
#include "collective/gloo_group.h"
#include "collective/member.h"
#include "collective/peer_options.h"
#include "collective/stepper.h"
#include "worker/gradient_source.h"
#include "worker/order.h"
#include "worker/pace.h"

namespace outpace::collective {

class Ring {
 public:
  // `weights`: the same on all workers.
  Ring(const PeerOptions& options,
       std::vector<float> weights,
       GlooGroup& group,
       worker::GradientSource& source,
       const worker::Pace& pace);

  // Until a limit is reached, or any worker was told to stop. Throws Error if the ring breaks or
  // diverges.
  void run(Member& member);

  // REQUIRES: run() is not running.
  [[nodiscard]] const std::vector<float>& weights() const { return weights_; }

 private:
  // This worker's part of the sum, on its way to the others when this returns.
  void compute(Member& member, const BatchPlan::Update& update, Sequence sequence);
  void tensor_ready(std::size_t tensor);
  void send(const Bucket& bucket);

  // Constant after construction.
  const PeerOptions options_;
  GlooGroup& group_;
  worker::GradientSource& source_;
  const worker::Pace& pace_;
  const std::size_t numbers_;
  // State.
  BatchPlan plan_;
  worker::Order order_;
  Stepper stepper_;
  BucketFill fill_;
  std::vector<float> weights_;
  std::vector<float> sum_;     // The gradient, and in its last number the votes for an end.
  float share_ = 0.0F;         // Of this worker's examples in the update's.
  bool at_once_ = true;        // Buckets go out as they fill.
  std::vector<Bucket> held_;   // Or all together, when the whole gradient is ready.
  std::uint64_t applied_ = 0;  // Examples.
};

}  // namespace outpace::collective
