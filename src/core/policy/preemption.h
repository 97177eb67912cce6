// When to interrupt a straggler, so that the part it has done still arrives in time.
//
// A worker released at version v and interrupted at lag L answers with lag L + x, where the
// crossing x is what the others commit while the interruption travels, is noticed and is answered.
// For the answer to come with lag <= s it is interrupted at
//
//   L = max(floor, s - ceil(x)),   floor = max(1, min(live - 1, ceil(s / 2))).
//
// The floor: live workers are live - 1 behind on average, whichever is interrupted (Zhang, Gupta,
// Lian, Liu, "Staleness-aware Async-SGD", IJCAI 2016, section 3.1), so one that is less behind is
// no straggler. Without the floor, noise feeds itself: after a long crossing all are interrupted
// earlier, so partial gradients come more often than full ones, and the next crossing counts even
// more versions, until all send partial gradients of a few examples.
//
// x is learnt for each worker: it rises at once to the most that was seen and falls by 1/8 a
// release, because one part too late is a whole iteration lost and one interrupted early is not.
//
// Interruptions set each other off: a partial gradient comes early and is an update too, which
// makes the next worker due. So each whole gradient that is taken up earns one interruption, and a
// worker that is due waits in a queue until there is one. Partial gradients are never more than
// whole ones.
//
// The version at which a release falls due is known when it is given. So the releases wait in a
// wheel of lists, each for every kLists-th version, and a commit looks at one list instead of at
// every worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace outpace::policy {

class Preemption {
 public:
  // REQUIRES: bound >= 1.
  explicit Preemption(std::uint64_t bound);

  // The paper's s, from the next release on. REQUIRES: bound >= 1.
  void set_bound(std::uint64_t bound);

  // Forgets what was learnt of a worker of this id. The only call that allocates.
  void join(WorkerId worker);
  // The worker, one of `live`, computes from `version` on. REQUIRES: it joined and does not
  // compute.
  void released(WorkerId worker, std::uint64_t version, std::uint32_t live);
  // The release answered, was given up, or its worker left; true if it had been interrupted.
  bool ended(WorkerId worker);
  // Learns from an answer to an interruption. REQUIRES: ended() was true for it.
  void answered(WorkerId worker, std::uint64_t version, bool whole);
  // A whole gradient was taken up. No more than `most` interruptions are saved up.
  void earn(std::uint32_t most);
  void forget_earned() { earned_ = 0; }
  // The next worker to interrupt at this version; call until there is none. Each version is asked
  // for, in order, after its commit; each release is returned at most once.
  [[nodiscard]] std::optional<WorkerId> next_due(std::uint64_t version);

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  static constexpr std::size_t kLists = 1024;

  struct Worker {
    double crossing = 1.0;
    std::uint64_t due = 0;           // The version at which to interrupt.
    std::uint64_t interrupted = 0;   // The version at which it was.
    bool waiting = false;            // It is in the list of `due`, or in the queue.
    bool queued = false;             // It is in the queue.
    bool was_interrupted = false;    // Since its last release.
    std::uint32_t before = kNobody;  // Its neighbours there.
    std::uint32_t after = kNobody;
  };

  [[nodiscard]] std::uint32_t& head(std::uint64_t version);
  // Moves those that are due at this version to the end of the queue.
  void queue_due(std::uint64_t version);
  void unlink(std::uint32_t worker);

  std::uint64_t bound_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> heads_;
  std::uint32_t first_ = kNobody;  // The queue's front.
  std::uint32_t last_ = kNobody;
  std::uint32_t earned_ = 0;  // Interruptions.
};

}  // namespace outpace::policy
