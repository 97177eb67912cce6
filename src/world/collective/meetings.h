// The meetings of one worker with its neighbours, in one group of a gossip.
//
// What is said and what moves, peer/conversation.h decides. Here two threads carry it out. One
// seeks: it begins this worker's own meetings. The other listens: it answers at once, whatever the
// worker computes, so nobody waits for a slow gradient.
//
// Packed weights are rounded, and both sides go by what was sent: a worker moves by the difference
// of what the two packed forms unpack to, so that their sum stays. Where one side alone moves, it
// goes by the difference from its own weights as they would be sent. Otherwise each pull would take
// it halfway to rounded numbers, and steps that are smaller than the rounding would be lost.
//
// No cycle of waiting threads: listening threads wait for seeking threads alone, and a listener
// waits only for the one it serves, which waits for this listener alone.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "collective/gloo_group.h"
#include "collective/peer_options.h"
#include "collective/replica.h"
#include "compress/format.h"
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
    compress::Format format{};  // In which weights travel.
    peer::Journal journal{};
  };
  // `group`, which this worker has joined in its place, and `replica` outlive this object.
  Meetings(const Options& options,
           worker::Neighbours neighbours,
           GlooGroup& group,
           Replica& replica);

  // Until the group is broken or to be left. Throws GroupBroken, or an Error if weights came that
  // cannot be used.
  [[noreturn]] void run();

 private:
  // What is sent and what comes; each thread has its own.
  struct Sheets {
    std::vector<float> then;  // As the other side gets it.
    std::vector<float> theirs;
    std::array<float, 1> word{};  // That came, of a message without weights.
    std::vector<std::byte> sent;  // Parcels (parcel.h); unless weights are packed, these are empty.
    std::vector<std::byte> came;
  };

  void seek();
  void listen();
  [[nodiscard]] peer::Actions begin(const peer::Meeting& meeting);
  [[nodiscard]] peer::Actions knock(const peer::Message& opening);
  [[nodiscard]] peer::Actions came(const peer::Message& message);

  // These, and what follows from them, until nothing is awaited.
  void carry_out(peer::Actions actions, Sheets& sheets);
  [[nodiscard]] bool packs() const { return format_.kind != compress::Kind::kNone; }
  // What a Send sends.
  [[nodiscard]] std::span<const std::byte> payload(const peer::Send& send, Sheets& sheets);
  // Where a message comes to, and what is done when it has come.
  [[nodiscard]] std::span<std::byte> room(peer::Say what, Sheets& sheets) const;
  void unpack(std::uint32_t from, peer::Say what, Sheets& sheets) const;
  // Packs these weights, and replaces them by what the other side gets.
  void pack(std::vector<float>& weights, std::vector<std::byte>& parcel) const;
  // Adds to their weights what rounding takes from ours.
  void add_own_rounding(Sheets& sheets);
  void average(const peer::Average& average, Sheets& sheets);

  // Constant after construction.
  const bool has_centre_;
  const std::uint32_t rank_;
  const float alpha_;
  const compress::Format format_;
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
