// Which meeting a worker of a gossip begins next, and what its gradients wait for.
//
// Pure. A meeting is wanted, then begun, then over. One that a gradient of this worker wants comes
// first; then those that other workers invited it to, in their order. A group that breaks ends no
// meeting: the one that is wanted takes place in the next group.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "peer/averaging.h"
#include "peer/conversation.h"
#include "peer/journal.h"

namespace outpace::peer {

// Whether a worker's gradient begins an averaging; `iteration` counts its gradients from 0.
[[nodiscard]] constexpr bool begins_averaging(std::uint64_t iteration,
                                              std::uint32_t average_every) {
  return iteration % average_every == 0;
}
// Whether a gradient that is ready waits until the averaging is over.
[[nodiscard]] constexpr bool waits_for_averaging(Averaging averaging) {
  return averaging != Averaging::kFree;
}

class Turns {
 public:
  // REQUIRES: average_every >= 1.
  explicit Turns(Averaging averaging = Averaging::kCoupled,
                 std::uint32_t average_every = 1,
                 Journal journal = {})
      : averaging_(averaging), average_every_(average_every), journal_(std::move(journal)) {}

  // A gradient is begun, and may want a meeting. If the last is still wanted, it is this one too.
  void begin_gradient();
  // It is applied. REQUIRES: !waits().
  void apply();
  // Another worker invited this one.
  void invited(std::uint32_t by);
  // This worker wants no further meeting; it still comes where it is invited.
  void end();

  // A group exists, or does not any more. Meetings that were begun are not over; invitations to
  // them are.
  void connected();
  void disconnected();

  // A meeting is to begin.
  [[nodiscard]] bool ready() const { return own() || !invitations_.empty(); }
  // Begins it. REQUIRES: ready().
  [[nodiscard]] Meeting begin();
  // A meeting is over: this worker's own, or one that it was invited to.
  void over(bool own);
  // There is no meeting of this worker's own to be had.
  void skip();

  // A gradient that is ready is not to be applied yet.
  [[nodiscard]] bool waits() const { return wanted_ && waits_for_averaging(averaging_); }
  // No meeting is open that this worker began.
  [[nodiscard]] bool quiet() const { return !connected_ || !(begun_ || serving_); }
  // Gradients that were begun, and meetings of this worker's own that are over.
  [[nodiscard]] std::uint64_t gradients() const { return gradients_; }
  [[nodiscard]] std::uint64_t meetings() const { return meetings_; }

 private:
  [[nodiscard]] bool own() const { return wanted_ && !begun_ && !ending_; }
  void note(const char* event, const char* decided = "") const {
    if (journal_) {
      journal_(event, decided);
    }
  }

  // Constant after construction.
  Averaging averaging_;
  std::uint32_t average_every_;
  Journal journal_;
  // State.
  bool wanted_ = false;
  bool begun_ = false;    // This worker's own meeting.
  bool serving_ = false;  // One that it was invited to.
  bool connected_ = false;
  bool ending_ = false;
  std::deque<std::uint32_t> invitations_;
  std::uint64_t gradients_ = 0;
  std::uint64_t meetings_ = 0;
};

}  // namespace outpace::peer
