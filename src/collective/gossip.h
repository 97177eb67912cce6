// The life of a worker in a gossip: asynchronous decentralised SGD, AD-PSGD.
//
// Every worker has weights of its own. It computes a gradient on them, and meanwhile, off this
// path, another thread averages them with those of a random neighbour; then it applies the gradient
// to what the weights are by then. Nobody waits for a slow worker. Lian, Zhang, Zhang, Liu,
// "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML 2018, algorithm 1.
//
// One side asks, once for each gradient, and the other answers (neighbour.h). Who asks sends its
// weights, gets the other's, and both move halfway to what the other had (replicas.h). A gradient
// that comes before the meeting is over does not wait for it.

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
  // `weights`: the same on all workers, to begin with. REQUIRES: at least 2 workers.
  Gossip(const PeerOptions& options,
         std::vector<float> weights,
         GlooGroup& group,
         worker::GradientSource& source,
         const worker::Pace& pace);
  ~Gossip();
  Gossip(const Gossip&) = delete;
  Gossip& operator=(const Gossip&) = delete;

  // Until it is told to stop; then this worker awaits nothing of another, but answers on. Throws
  // Error if a neighbour is gone, or training diverges.
  void run(Member& member);

  // Those of now. From any thread.
  [[nodiscard]] std::vector<float> weights() const;
  // That this worker asked for, and are over.
  [[nodiscard]] std::uint64_t meetings() const;

 private:
  // The averaging thread's, by side.
  void ask();
  void answer();
  // Of the computing thread.
  void one_gradient(Member& member, std::uint64_t iteration);
  [[nodiscard]] protocol::Ranges next_examples();
  void want_meeting();
  void end_meetings();
  void rethrow();

  // Constant after construction.
  const PeerOptions options_;
  GlooGroup& group_;
  worker::GradientSource& source_;
  const worker::Pace& pace_;
  // Of the computing thread.
  worker::Order order_;
  Stepper stepper_;
  std::uint64_t epoch_ = 0;     // Of this worker's own order,
  std::uint64_t position_ = 0;  // and the next example's place in it.
  std::uint64_t applied_ = 0;   // Examples, of this worker alone.
  std::vector<float> before_;   // What the gradient is of.
  std::vector<float> gradient_;
  // State below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> weights_;
  bool wants_meeting_ = false;
  bool meeting_ = false;
  bool ending_ = false;
  std::uint64_t meetings_ = 0;
  std::exception_ptr failure_;  // Of the averaging thread.
  std::jthread averaging_;      // Last: it uses all of the above.
};

}  // namespace outpace::collective
