// A recorded run's events once more into its policy: the same events must give the same actions,
// and what was decided must keep the invariants (invariants/decisions.h).

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "record/decision_log.h"

namespace outpace::record {

// The policy of a log as it was at the log's begin, which hears the recorded events again.
class ReplayedPolicy {
 public:
  // With the fitted runtime model that is beside the log, if there is one. Throws a usage error if
  // there is no such policy, or if it is the oracle, who knew what was to come.
  ReplayedPolicy(const std::filesystem::path& decisions, const DecisionLogHeader& header);

  // What it decides, until the next call. Null if this event cannot come after those before it, as
  // one of a worker that is not there; no policy could answer it.
  [[nodiscard]] const policy::Decision* decide(const LoggedDecision& logged);
  [[nodiscard]] bool outlook(policy::Outlook& out) const { return policy_->outlook(out); }

 private:
  struct Worker {
    bool live = false;
    bool open = false;  // It has a release.
  };
  Worker& worker(WorkerId id);
  [[nodiscard]] bool can_come(const policy::Event& event);
  void follow(const policy::Event& event);

  std::unique_ptr<policy::Policy> policy_;
  policy::Decision decision_;
  std::vector<Worker> workers_;
};

struct Replay {
  // The first decision that came out differently; in the words of the log.
  struct Difference {
    std::filesystem::path file;  // The log's part.
    std::uint64_t line;          // Of it, from 1.
    Time now;
    std::string event;
    std::string recorded;
    std::string replayed;
  };

  // The first recorded decision that breaks an invariant.
  struct Broken {
    std::filesystem::path file;  // The log's part.
    std::uint64_t line;          // Of it, from 1.
    Time now;
    std::string what;  // With the invariant's number in front.
  };

  DecisionLogHeader header;
  std::uint64_t decisions = 0;  // That were identical.
  bool cut_short = false;       // The log's writer was killed: its last line was left out.
  std::string gap;              // Where and why decisions are missing; empty: none are.
  std::optional<Difference> difference;
  std::optional<Broken> broken;
};

// Replays decisions.jsonl, with the fitted runtime model beside it if there is one, up to the first
// difference, broken invariant or gap. Throws a usage error if the log cannot be read, or names a
// policy that there is not.
[[nodiscard]] Replay replay(const std::filesystem::path& decisions);

}  // namespace outpace::record
