// A recorded run's events once more into its policy: the same events must give the same actions,
// and what was decided must keep the invariants (invariants/decisions.h).

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "record/decision_log.h"

namespace outpace::record {

// The policy of this log as it was at its begin, with the fitted runtime model that is beside the
// log if there is one. Throws a usage error if there is no such policy, or if it is the oracle, who
// knew what was to come.
[[nodiscard]] std::unique_ptr<policy::Policy> policy_of(const std::filesystem::path& decisions,
                                                        const DecisionLogHeader& header);

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
