// The meetings of one worker with its neighbours, in one group of a gossip.
//
// What is said and what moves, peer/conversation.h decides. Here two threads carry it out. One
// seeks: it begins this worker's own meetings. The other listens: it answers at once, whatever the
// worker computes, so nobody waits for a slow gradient.
//
// No cycle of waiting threads: listening threads wait for seeking threads alone, and a listener
// waits only for the one it serves, which waits for this listener alone.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "collective/gloo_group.h"
#include "collective/peer_options.h"
#include "collective/replica.h"
#include "peer/conversation.h"
#include "worker/neighbour.h"

namespace outpace::collective {

// Tags of the conversations of a pair.
inline constexpr auto kRequest = static_cast<std::uint32_t>(peer::Say::kRequest);
inline constexpr auto kReply = static_cast<std::uint32_t>(peer::Say::kReply);
inline constexpr auto kPushed = static_cast<std::uint32_t>(peer::Say::kPushed);
inline constexpr auto kCame = static_cast<std::uint32_t>(peer::Say::kCame);

class Meetings {
 public:
  struct Options {
    Averaging averaging;
    float alpha;  // For elastic averaging.
    peer::Place place;
    peer::Journal journal{};
  };
  // `group`, which this worker has joined in its place, and `replica` outlive this object.
  Meetings(const Options& options,
           worker::Neighbours neighbours,
           GlooGroup& group,
           Replica& replica);

  // Until the group is broken or to be left. Throws GroupBroken, always.
  [[noreturn]] void run();

 private:
  // What is sent and what comes; each thread has its own.
  struct Sheets {
    std::vector<float> then;
    std::vector<float> theirs;
  };

  void seek();
  void listen();
  [[nodiscard]] peer::Actions begin(const peer::Meeting& meeting);
  [[nodiscard]] peer::Actions knock(const peer::Message& opening);
  [[nodiscard]] peer::Actions came(const peer::Message& message);

  // These, and what follows from them, until nothing is awaited.
  void carry_out(peer::Actions actions, Sheets& sheets);
  // What a Send sends.
  [[nodiscard]] std::span<const float> payload(const peer::Send& send, Sheets& sheets);
  void average(const peer::Average& average, Sheets& sheets);

  // Constant after construction.
  const bool has_centre_;
  const std::uint32_t rank_;
  const float alpha_;
  GlooGroup& group_;
  Replica& replica_;
  // State. The next two are used by the seeking thread, and by the listening one.
  Sheets seeking_;
  Sheets listening_;
  worker::Neighbours neighbours_;  // Used by the seeking thread only.
  std::mutex mutex_;               // Guards what follows.
  const std::unique_ptr<peer::Conversation> conversation_;
};

}  // namespace outpace::collective
