// A recorded run's events once more into its policy: the same events must give the same actions,
// and what was decided must keep the invariants (invariants/decisions.h).

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/spec.h"
#include "base/time.h"
#include "policy/catalogue.h"
#include "record/decision_log.h"
#include "record/run_directory.h"

namespace outpace::record {

// The policy of a log as it was at the log's begin, which hears the recorded events again.
class ReplayedPolicy {
 public:
  // With the fitted runtime model that the run used, if there is one. Throws a usage error if there
  // is no such policy, if it is the oracle, who knew what was to come, or if what it knew when the
  // log begins is not there.
  ReplayedPolicy(const RunDirectory& files, const DecisionLogHeader& header);

  // What it decides, until the next call. Null if this event cannot come after those before it, as
  // one of a worker that is not there; no policy could answer it.
  [[nodiscard]] const policy::Decision* decide(const LoggedDecision& logged);
  // Another server went on with the run: with what the policy keeps in a checkpoint, and nobody is
  // there yet.
  void another_server();
  [[nodiscard]] bool outlook(policy::Outlook& out) const { return policy_->outlook(out); }

 private:
  struct Worker {
    bool live = false;
    bool open = false;  // It has a release.
  };
  Worker& worker(WorkerId id);
  [[nodiscard]] bool can_come(const policy::Event& event);
  void follow(const policy::Event& event);

  [[nodiscard]] std::unique_ptr<policy::Policy> make() const;

  const Spec spec_;
  const std::uint32_t planned_;  // Workers.
  policy::PolicyInputs inputs_;
  std::unique_ptr<policy::Policy> policy_;
  policy::Decision decision_;
  std::vector<Worker> workers_;
};

struct Replay {
  // The host or a worker of a run without a server, and its events so far.
  struct Member {
    std::string name;
    std::uint64_t event;
  };

  // The first decision that came out differently; in the words of the log.
  struct Difference {
    std::filesystem::path file;  // The log's part.
    std::uint64_t line;          // Its line there, from 1.
    Time now;
    std::string event;
    std::string recorded;
    std::string replayed;
    std::optional<Member> member{};  // Nothing: the server.
  };

  // The first recorded decision that breaks an invariant.
  struct Broken {
    std::filesystem::path file;  // The log's part.
    std::uint64_t line;          // Its line there, from 1.
    Time now;
    std::string what;  // With the invariant's number in front.
  };

  DecisionLogHeader header;
  std::string policy;           // The header's, and those that were set later; or the topology.
  std::uint64_t decisions = 0;  // Decisions that were identical.
  std::uint32_t members = 0;    // Host and workers whose decisions these are; 0: a server's.
  // Logs whose writer was killed: their last line was left out.
  std::vector<std::filesystem::path> cut_short;
  std::string gap;  // Where and why decisions are missing, a line each; empty: none are.
  std::optional<Difference> difference;
  std::optional<Broken> broken;
};

// Replays a server's decisions, with the fitted runtime model if it used one, up to the first
// difference, broken invariant or gap. Throws a usage error if the log cannot be read, or names a
// policy that there is not.
[[nodiscard]] Replay replay(const RunDirectory& files);

}  // namespace outpace::record
