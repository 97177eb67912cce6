// A worker of a gossip: asynchronous decentralised SGD (AD-PSGD).
//
// Every worker has its own weights. It computes a gradient on them; meanwhile another thread
// averages them with the weights of a random neighbour. Then it applies the gradient to the weights
// as they are by then. No worker waits for a slow one. Lian, Zhang, Zhang, Liu, "Asynchronous
// Decentralized Parallel Stochastic Gradient Descent", ICML 2018, algorithm 1.
//
// One side of the workers asks for a meeting once per gradient, and the other side answers
// (neighbour.h). The asking worker sends its weights and receives the other's. Both then move
// halfway to what the other had (replicas.h). A gradient that is ready before the meeting is over
// does not wait for it.
//
// A neighbour that dies, or is silent, breaks the meetings of the others. They form a new group
// without it (formation.h) while they go on computing, and meet again. The
// place in the group says whether a worker asks or answers.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "collective/gloo_group.h"
#include "collective/member.h"
#include "collective/peer_options.h"
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

  // Runs until told to stop. Then this worker asks for nothing, but still answers, until the host
  // has its last weights. Throws Error if the run goes on without this worker, the host is gone, or
  // training diverges.
  void run(Member& member);

  // The present weights. From any thread.
  [[nodiscard]] std::vector<float> weights() const;
  // Completed meetings that this worker asked for.
  [[nodiscard]] std::uint64_t meetings() const;

 private:
  // The averaging thread's: one group after the other, and in each a loop for its side.
  void average(Member& member);
  void ask(GlooGroup& group, const protocol::Group& members);
  void answer(GlooGroup& group);
  // Ends the averaging thread.
  void end_averaging(Member& member);
  // Called on the computing thread.
  void one_gradient(Member& member, std::uint64_t iteration);
  [[nodiscard]] protocol::Ranges next_examples();
  void want_meeting();
  void end_meetings();
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
  std::uint64_t applied_ = 0;   // Examples of this worker alone.
  std::vector<float> before_;   // The weights that the gradient is computed on.
  std::vector<float> gradient_;
  // State below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> weights_;
  bool wants_meeting_ = false;
  bool meeting_ = false;
  bool ending_ = false;
  bool left_ = false;           // The present group is to be left.
  bool begun_ = false;          // There has been a group, or there will be none.
  GlooGroup* group_ = nullptr;  // The present one.
  std::uint64_t meetings_ = 0;
  std::exception_ptr failure_;  // Of the averaging thread.
  std::jthread averaging_;      // Last, because it uses all of the above.
};

}  // namespace outpace::collective
