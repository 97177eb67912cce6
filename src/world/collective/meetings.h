// The meetings of one worker with its neighbours, in one group of a gossip.
//
// Two threads talk. One seeks: it begins this worker's own meetings. The other listens: it answers
// at once, whatever the worker computes, so nobody waits for a slow gradient.
//
// Coupled and free: two workers of different sides (worker/neighbour.h) meet. One asks; then both
// send their weights at once, and both move halfway between what they sent. Lian et al., ICML 2018,
// algorithm 1 (AD-PSGD). Coupled: for a gradient of a worker that answers, this worker invites one
// that asks, and that one then asks.
//
// Pull: asks for the neighbour's weights and moves halfway to them. The neighbour stays.
// Push: sends its weights. The neighbour averages, before its next step, its weights and all that
// came. Jin, Yuan, Iandola, Keutzer, "How to scale distributed deep learning?", 2016, has both. A
// worker serves one visit at a time, until its weights have come.
//
// Elastic: sends its weights to the first worker of the group, which holds the centre, and gets the
// centre. The weights move by a part of the difference, and so does the centre. Zhang, Choromanska,
// LeCun, "Deep learning with Elastic Averaging SGD", 2015, algorithm 1 (EASGD; EAMSGD if the
// optimizer is nesterov).
//
// No cycle of waiting threads: listening threads wait for seeking threads alone, and a listener
// waits only for the one it serves, which waits for this listener alone.

#pragma once

#include <cstdint>
#include <vector>

#include "collective/gloo_group.h"
#include "collective/peer_options.h"
#include "collective/replica.h"
#include "worker/neighbour.h"

namespace outpace::collective {

// Tags of the conversations of a pair. A change of what is said needs another protocol version.
inline constexpr std::uint32_t kOffer = 1;   // Weights, of the one that asks.
inline constexpr std::uint32_t kAnswer = 2;  // Weights.
inline constexpr std::uint32_t kInvite = 3;  // One number, as the next.
inline constexpr std::uint32_t kRequest = 4;
inline constexpr std::uint32_t kReply = 5;     // Weights.
inline constexpr std::uint32_t kPushed = 6;    // Weights.
inline constexpr std::uint32_t kToCentre = 7;  // Weights, as the next.
inline constexpr std::uint32_t kOfCentre = 8;
inline constexpr std::uint32_t kAsk = 9;    // One number: whether the other invited to it.
inline constexpr std::uint32_t kCame = 10;  // One number: the weights of a visit are there.

class Meetings {
 public:
  // `group`, which this worker has joined in place `rank`, and `replica` outlive this object.
  // `alpha`: of elastic averaging.
  Meetings(Averaging averaging,
           float alpha,
           std::uint32_t rank,
           worker::Neighbours neighbours,
           GlooGroup& group,
           Replica& replica);

  // Until the group is broken or to be left. Throws GroupBroken, always.
  [[noreturn]] void run();

 private:
  // The seeking thread's.
  void seek();
  void begin_own();
  void ask(std::uint32_t neighbour, bool own);
  void pull();
  void push();
  void meet_centre();
  // The listening thread's.
  void listen();
  void answer();
  void take_invitations();
  void give();
  void take_pushes();
  void answer_for_centre();

  [[nodiscard]] bool asks() const { return worker::side_of(rank_) == worker::Side::kAsks; }

  // What is sent and what comes; each thread has its own.
  struct Sheets {
    std::vector<float> then;
    std::vector<float> theirs;
  };

  const Averaging averaging_;
  const float alpha_;
  const std::uint32_t rank_;
  worker::Neighbours neighbours_;
  GlooGroup& group_;
  Replica& replica_;
  Sheets seeking_;
  Sheets listening_;
};

}  // namespace outpace::collective
