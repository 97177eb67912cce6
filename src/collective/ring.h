// A worker of a ring: synchronous SGD without a server.
//
// All workers have the same weights. In each update, every worker computes the gradient of its
// share of the next examples (batch_plan.h). The workers sum their gradients bucket by bucket
// during the backward passes (bucket_plan.h), and each takes the same step with the same mean. In a
// ring all-reduce of W workers, each sends and receives 2 (W - 1) / W of the gradient, in 2 (W - 1)
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
  // `weights`: equal on all workers.
  Ring(const PeerOptions& options,
       std::vector<float> weights,
       GlooGroup& group,
       worker::GradientSource& source,
       const worker::Pace& pace);

  // Runs until a limit is reached or any worker was told to stop. Throws Error if the ring breaks
  // or training diverges.
  void run(Member& member);

  // REQUIRES: run() is not running.
  [[nodiscard]] const std::vector<float>& weights() const { return weights_; }

 private:
  // Computes this worker's term of the sum; it is on its way to the others on return.
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
  std::vector<float> sum_;  // The gradient; the last number counts the votes to end.
  float share_ = 0.0F;      // This worker's share of the update's examples.
  bool at_once_ = true;     // Whether buckets are sent as they fill.
  // Otherwise they are held back and sent together when the whole gradient is ready.
  std::vector<Bucket> held_;
  std::uint64_t applied_ = 0;  // Examples.
};

}  // namespace outpace::collective
