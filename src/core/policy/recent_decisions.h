// The newest decisions of a run, for a trace of them: of bounded memory, and cheap to add to.
//
// Pure. A reader need not hold up the adder: keep() shares what does not change any more.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "policy/policy.h"
#include "policy/reason.h"

namespace outpace::policy {

// Where a run is at a moment.
struct Underway {
  struct Task {
    bool open = false;
    Time begun{};
    Version version{};
  };
  struct Worker {
    bool live = false;
    Task task;
  };
  Time now{};
  Version version{};
  std::vector<Worker> workers;
  std::vector<Sequence> accepted;  // To the next update: the releases.
};

// What a policy decided.
struct Decided {
  std::span<const Action> actions;
  Reason reason{};
  std::string_view words{};  // In place of it, if they are not empty.
};

class RecentDecisions {
 public:
  static constexpr std::size_t kPart = 1000;  // Decisions that are forgotten together.
  static constexpr std::size_t kMost = 50 * kPart;

  struct Part {
    struct One {
      Time now;
      Event event;
      Reason reason;
      std::string words;        // For a recorded decision, in place of the reason.
      std::size_t actions_end;  // Where its actions end; they begin where those before it end.
    };
    Underway begin;
    std::vector<One> decided;
    std::vector<Action> actions;
  };
  // Shared by the adder, which adds no more to them, and its readers. The last of these frees them.
  using Parts = std::vector<std::shared_ptr<const Part>>;

  RecentDecisions() = default;
  // The first decision is of this version.
  explicit RecentDecisions(Version version) { now_.version = version; }

  void add(Time now, const Event& event, const Decided& decided);
  // All that is there; what comes later does not change it.
  [[nodiscard]] Parts keep() const;

 private:
  void follow(Time now, const Event& event, std::span<const Action> actions);
  Underway::Worker& worker(WorkerId id);

  Underway now_;
  Parts whole_;
  Part last_;
};

}  // namespace outpace::policy
