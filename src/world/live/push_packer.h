// Packs what a worker pushes in fewer bytes, and keeps what that leaves behind from push to push:
// it outlasts the connections, as the worker's process does.
//
// Values that are no gradient, those of buffers which the server averages or takes over, go as they
// are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"
#include "compress/feedback.h"
#include "compress/format.h"
#include "protocol/messages.h"
#include "wire/payload.h"

namespace outpace::live {

class PushPacker {
 public:
  // `own`: what the worker was told; nothing: as the job says.
  PushPacker(std::optional<compress::Compression> own,
             const protocol::Manifest& manifest,
             const protocol::Script& script);

  // A server has welcomed this worker: it says how to pack, and whether the push counted whose
  // verdict was lost with the connection before.
  void welcomed(const protocol::Welcome& welcome);
  [[nodiscard]] bool packs() const { return feedback_.has_value(); }
  // Whether something may be left behind.
  [[nodiscard]] bool remembers() const { return compression_.leaves_behind(); }
  // What is left, without the push that has no verdict. REQUIRES: remembers().
  void keep(Archive& archive) { feedback_->keep(archive); }
  // The run has gone on to update `at` before this process came: says on stderr that what packing
  // left behind earlier is lost, if there may be some.
  void say_lost(WorkerId worker, Version at) const;
  // A release begins. The server keeps a checkpoint of some versions. One that goes back to such a
  // version finds what was left behind as it was then, so that the run goes on as it would have.
  void released(const protocol::Release& release);
  // The push whose verdict has not come; 0: none.
  [[nodiscard]] Sequence unanswered() const { return unanswered_; }

  struct Part {
    std::size_t begin;  // Its first number's place in the gradient.
    wire::Payload payload;
  };
  // Numbers [begin, begin + numbers.size()) of the gradient that answers this release, as payloads
  // from the last to the first. Those that are not packed stay where they are as long as a copy of
  // `keeper` lives. REQUIRES: packs().
  [[nodiscard]] std::vector<Part> pack(std::size_t begin,
                                       std::span<const float> numbers,
                                       const std::shared_ptr<const void>& keeper);
  // What was packed since the last verdict has been pushed, without these tensors.
  void pushed(Sequence release, std::vector<std::uint32_t> without);
  // It counts, or it does not; the same if nothing was packed.
  void judged(bool counts);

 private:
  // Numbers [begin, end) of the gradient, of one tensor or of several in a row.
  struct Run {
    std::size_t begin;
    std::size_t end;
    bool packed;
  };
  [[nodiscard]] std::size_t begin_of(std::size_t tensor) const;
  void settle(const compress::Compression& compression);
  [[nodiscard]] wire::Payload packed(std::size_t begin, std::span<const float> numbers);

  // What was left behind when the server kept this version.
  struct Kept {
    Version version;
    std::vector<float> left;
  };
  static constexpr std::size_t kKeptMost = 2;  // The newest may not have reached the disk.

  // Constant after construction.
  const std::optional<compress::Compression> own_;
  const std::vector<std::size_t> ends_;  // The tensors'.
  std::vector<Run> runs_;                // In order.
  // State.
  compress::Compression compression_;
  std::optional<compress::Feedback> feedback_;
  Sequence unanswered_{};
  std::vector<std::uint32_t> without_;  // The unanswered push's.
  std::uint32_t generation_ = 0;        // The server's; 0: there was none yet.
  bool went_back_ = false;  // This server is another one, and its first release is to come.
  std::deque<Kept> kept_;   // The newest last.
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory_;  // For packed numbers.
};

}  // namespace outpace::live
