// A worker of a ring: synchronous SGD without a server.
//
// All workers have the same weights. In each update, every worker computes the gradient of its
// share of the next examples (peer/batch_plan.h). The workers sum their gradients bucket by bucket
// during the backward passes (worker/bucket_plan.h), and each takes the same step with the same
// mean. In a ring all-reduce of W workers, each sends and receives 2 (W - 1) / W of the gradient,
// in 2 (W - 1) steps: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", J. Parallel Distrib. Comput. 69 (2009), section 3. Packed gradients are summed as
// packed_sum.h says; all workers end with the same bits then too.
//
// A worker that dies, or is silent, breaks the sum that is open on all others: none of them applies
// a part of it. Those that are left form a new ring (peer/formation.h). Some of them may have
// applied the last update that others had not, because the sum broke after it was complete on some.
// These get the sum from one that has it, and take the same step. Then the examples of the open
// update are shared out anew. A newcomer gets everything from one that has it (handover.h). What to
// compute, apply and hand on, peer/ring.h decides; here it is
// carried out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "collective/gloo_group.h"
#include "collective/member.h"
#include "collective/packed_sum.h"
#include "collective/peer_options.h"
#include "collective/stepper.h"
#include "peer/ring.h"
#include "protocol/traffic.h"
#include "worker/bucket_plan.h"
#include "worker/gradient_source.h"
#include "worker/order.h"
#include "worker/pace.h"

namespace outpace::collective {

class Ring {
 public:
  // `weights`: equal on all workers. `joining`: how to join a group; the host says in which place.
  Ring(const PeerOptions& options,
       std::vector<float> weights,
       GroupOptions joining,
       worker::GradientSource& source,
       const worker::Pace& pace);

  // Runs until a limit is reached or any worker was told to stop, and the host has the last
  // weights. Throws Error if the ring goes on without this worker, the host is gone, or training
  // diverges.
  void run(Member& member);

  // REQUIRES: nothing is computed; the host asks only then.
  [[nodiscard]] const std::vector<float>& weights() const { return weights_; }
  // Updates applied.
  [[nodiscard]] Version version() const { return peer_.version(); }

 private:
  // Waits for the host's word, and joins the next group.
  [[nodiscard]] protocol::Group form(Member& member);
  void leave_group(Member& member);
  // All that a newcomer needs, written or read.
  void keep(Archive& archive, peer::Ring::Come& come);
  // In this group, until there is no update left.
  void train(Member& member, const protocol::Group& group);
  // Takes the step, whose sum is last_.
  void apply(Member& member, const peer::Ring::Apply& step);
  // The sum of the open update is in last_.
  [[nodiscard]] peer::Ring::Actions summed();
  // Computes this worker's term of the sum; it is on its way to the others on return.
  void compute(Member& member, const peer::BatchPlan::Update& update, Sequence sequence);
  void tensor_ready(std::size_t tensor);
  void send(const worker::Bucket& bucket);

  // Constant after construction.
  const PeerOptions options_;
  const GroupOptions joining_;
  worker::GradientSource& source_;
  const worker::Pace& pace_;
  const std::size_t numbers_;
  // State.
  peer::Ring peer_;
  worker::Order order_;
  Stepper stepper_;
  worker::BucketFill fill_;
  std::vector<float> weights_;
  std::optional<Member::Report> report_;  // On this worker's gradient for the open update.
  std::vector<float> sum_;                // The gradient; the last number counts the votes to end.
  std::vector<float> last_;               // The sum of the newest update.
  float share_ = 0.0F;                    // This worker's share of the update's examples.
  bool at_once_ = true;                   // Whether buckets are sent as they fill.
  // Otherwise they are held back and sent together when the whole gradient is ready.
  std::vector<worker::Bucket> held_;
  std::uint32_t rank_ = 0;  // In the present group, or the last.
  std::uint32_t size_ = 1;
  std::map<std::size_t, PackedSum> packed_;  // By the bucket's begin; none unless they are packed.
  protocol::Carried carried_;                // Since the last report.
  std::optional<GlooGroup> group_;           // Last: its threads use the sums.
};

}  // namespace outpace::collective
