// Which policies decided in a recorded run, one after another: those that somebody set, and those
// that `auto` chose.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "record/decision_log.h"

namespace outpace::record {

class RecordedPolicies {
 public:
  // `policy`: what the log says at its head.
  explicit RecordedPolicies(const std::string& policy);

  // The next decision; `now` is when it was, on the clock of what is read.
  void follow(const LoggedDecision& decision, Time now);
  // Decisions were left out.
  void lose_track() { lost_ = true; }
  // What `auto` had in force for the longest time, as a summary has it: where decisions were left
  // out, it stands for all that `auto` chose.
  void mostly(const std::string& candidate);

  // All of them as one policy. Adds to `notes` what it does not tell.
  [[nodiscard]] std::string policy(std::vector<std::string>& notes) const;

  // `auto` balanced mini-batches for more than half of the time.
  [[nodiscard]] bool mostly_balanced() const;

 private:
  struct Change {
    Time at;
    std::string policy;
    bool balanced = false;
  };

  // From `at` on; "auto" begins as its first candidate.
  void set(Time at, const std::string& policy);
  void choose(Time at, std::uint32_t candidate);

  std::string given_;  // At the log's head.
  std::string first_;
  std::vector<Change> changes_;
  bool auto_decides_ = false;
  bool awaits_seam_ = false;  // What was set does not decide yet.
  bool chosen_ = false;       // `auto` decided at any time.
  Time end_{};
  bool lost_ = false;
  std::string mostly_;  // Empty: it is not needed.
};

}  // namespace outpace::record
