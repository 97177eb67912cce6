// The worker's side of the conversation as a state machine: what to compute, when to give it up,
// and how the last gradient fared.
//
// Pure: the session (live/) or a simulator feeds it messages in order and asks. At most one release
// is open; the newest one counts, so that a verdict or cancel of an older one changes nothing.

#pragma once

#include <cstdint>
#include <optional>

#include "protocol/messages.h"

namespace outpace::worker {

enum class CancelMode : std::uint8_t { kNone, kKeepPart, kAbandon };

class Inbox {
 public:
  void receive(const protocol::Message& message);
  void receive(const protocol::Release& release);
  void receive(const protocol::Cancel& cancel);
  void receive(const protocol::Verdict& verdict);

  // True if there is a release to compute now that was not taken yet: newest() from then on.
  [[nodiscard]] bool take();
  // Whether take() would return true.
  [[nodiscard]] bool has_next() const { return waiting_; }
  // REQUIRES: a release has come.
  [[nodiscard]] const protocol::Release& newest() const { return *newest_; }
  // How the release that was taken last was cancelled.
  [[nodiscard]] CancelMode cancelled() const { return cancelled_; }
  // The verdict on the release that was taken last, if it has come.
  [[nodiscard]] const std::optional<protocol::Verdict>& verdict() const { return verdict_; }
  // The run is over for this worker.
  [[nodiscard]] const std::optional<protocol::Stop>& stopped() const { return stopped_; }

 private:
  std::optional<protocol::Release> newest_;
  bool waiting_ = false;  // The newest was not taken yet.
  CancelMode cancelled_ = CancelMode::kNone;
  CancelMode next_cancelled_ = CancelMode::kNone;  // A cancel that came before take().
  Sequence current_{};                             // Taken last.
  std::optional<protocol::Verdict> verdict_;
  std::optional<protocol::Stop> stopped_;
};

// How many examples a worker computes between two looks at whether a part is asked for.
//
// A part is whole micro-batches. A worker that was asked for its part before it had one finishes
// its first micro-batch, and from then on takes half as many examples at once; after eight whole
// mini-batches in a row it doubles them again. Workers of which nobody asks parts compute the
// mini-batch at one go.
class MicroBatch {
 public:
  // REQUIRES: nominal >= 1.
  explicit MicroBatch(std::uint32_t nominal) : nominal_(nominal), size_(nominal) {}

  [[nodiscard]] std::uint32_t size() const { return size_; }
  void had_no_part();
  void was_whole();

 private:
  std::uint32_t nominal_;
  std::uint32_t size_;
  std::uint32_t whole_in_a_row_ = 0;
};

}  // namespace outpace::worker
