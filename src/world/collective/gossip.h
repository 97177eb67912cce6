// A worker of a gossip: decentralised SGD. Every worker has its own weights.
//
// It computes a gradient on them; meanwhile other threads average them with the weights of a random
// neighbour (meetings.h). Then it applies the gradient to the weights as they are by then. Lian,
// Zhang, Zhang, Liu, "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML 2018,
// algorithm 1; Jin, Yuan, Iandola, Keutzer, "How to scale distributed deep learning?", 2016.
//
// There the gradient goes with exactly one averaging. So a gradient that is ready waits for its
// meeting, if that is not over by then: for a round trip to the neighbour, whose threads answer
// also while it computes. With Averaging::kFree it does not wait, and a meeting may be skipped.
//
// A neighbour that dies, or is silent, breaks the meetings of the others. They form a new group
// without it (peer/formation.h) and meet again. A newcomer begins with the weights of another. The
// place in the group says whether a worker asks
// or answers.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "collective/gloo_group.h"
#include "collective/member.h"
#include "collective/peer_options.h"
#include "collective/replica.h"
#include "collective/stepper.h"
#include "worker/gradient_source.h"
#include "worker/order.h"
#include "worker/pace.h"

namespace outpace::collective {

class Gossip {
 public:
  // `weights`: the initial weights, equal on all workers. REQUIRES: at least 2 workers.
  // `joining`: how to join a group; the host says in which place.
  Gossip(const PeerOptions& options,
         std::vector<float> weights,
         GroupOptions joining,
         worker::GradientSource& source,
         const worker::Pace& pace);
  Gossip(const Gossip&) = delete;
  Gossip& operator=(const Gossip&) = delete;

  // Runs until told to stop. Then this worker begins no meeting, but still answers, until the host
  // has its last weights. Throws Error if the run goes on without this worker, the host is gone, or
  // training diverges.
  void run(Member& member);

  // What the host gets: the present weights, or the centre of an elastic averaging, if this worker
  // holds it. From any thread, as the next.
  [[nodiscard]] std::vector<float> weights() const { return replica_.shown(); }
  // Completed meetings that this worker began.
  [[nodiscard]] std::uint64_t meetings() const { return replica_.meetings(); }
  // Gradients that this worker applied.
  [[nodiscard]] std::uint64_t gradients() const { return gradients_; }

 private:
  // The averaging thread's: one group after the other.
  void average(Member& member);
  void meet_in(Member& member, GlooGroup& group, const protocol::Group& members);
  // Newcomers get the weights, and how far the run has come, from the first member that has them,
  // which holds the centre if there is one.
  void share_with_newcomers(Member& member, GlooGroup& group, const protocol::Group& members);
  // Ends the averaging thread.
  void end_averaging(Member& member);
  // Called on the computing thread.
  void one_gradient(Member& member, std::uint64_t iteration);
  [[nodiscard]] protocol::Ranges next_examples();
  // Whether the gradient may be applied; if not, the run ends.
  [[nodiscard]] bool wait_for_meeting(const Member& member);
  void rethrow();

  // Constant after construction.
  const PeerOptions options_;
  const GroupOptions joining_;
  worker::GradientSource& source_;
  const worker::Pace& pace_;
  // Used by the computing thread only.
  worker::Order order_;
  Stepper stepper_;
  std::uint64_t epoch_ = 0;     // The epoch of this worker's own order.
  std::uint64_t position_ = 0;  // The place of the next example in it.
  // Examples that it applied; a newcomer begins with the count of the one that handed it the
  // weights.
  std::atomic<std::uint64_t> applied_{0};  // The averaging thread reads it, too.
  std::uint64_t gradients_ = 0;
  std::vector<float> before_;  // The weights that the gradient is computed on.
  std::vector<float> gradient_;
  // Shared; it has a lock of its own.
  Replica replica_;
  // State below is guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  bool begun_ = false;          // There has been a group, or there will be none.
  GlooGroup* group_ = nullptr;  // The present one.
  std::exception_ptr failure_;  // Thrown on the averaging thread.
  std::jthread averaging_;      // Last, because it uses all of the above.
};

}  // namespace outpace::collective
