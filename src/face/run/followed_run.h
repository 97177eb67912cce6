// Feeds a board from the record of a run: all that is there, and then what its writer adds. The
// record has no forecasts, so they come from the policy, which hears the recorded events again.

#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <variant>

#include "base/time.h"
#include "record/decision_log.h"
#include "record/policy_replay.h"
#include "record/run_decisions.h"
#include "record/run_directory.h"
#include "watch/board.h"

namespace outpace::run {

class FollowedRun {
 public:
  // Throws a usage error if there is no decision log.
  explicit FollowedRun(const std::string& directory);
  // From here on the board hears what the policy expected too. REQUIRES: nothing was fed.
  void forecast();

  // What the page says at its top, and how long a cell of its lanes is.
  [[nodiscard]] watch::About about() const;
  [[nodiscard]] watch::Lanes::Options lanes() const;

  // Feeds what is recorded up to this time, and not more than `most` decisions. False if nothing
  // more is there at present. Throws a usage error that names file and line if the record is wrong.
  bool feed(watch::Board& board, Time until, std::size_t most);
  // The run's summary is there: nothing more comes. Why it ended.
  [[nodiscard]] std::optional<std::string> over() const;
  // Where and why decisions are missing, after which nothing is fed. Empty if none are, so far.
  [[nodiscard]] const std::string& gap() const { return log_.gap(); }

 private:
  struct Loss {
    double seconds;
    std::optional<double> value;
  };
  using Metric = std::variant<Loss, watch::Evaluated>;

  // The policy hears the next decision's event.
  void think(watch::Board& board);
  // REQUIRES: policy_.
  [[nodiscard]] bool decides_alike();
  void tell_outlook(watch::Board& board);
  void end_at_gap(watch::Board& board);
  // Another server goes on with the run.
  void go_on(watch::Board& board, const record::GoesOn& from);
  void read_metrics();
  void read_metrics_of(std::istream& file, double until, std::streamoff& read);
  void feed_metrics(watch::Board& board, double until);

  record::RunDirectory files_;
  record::RunDecisions log_;
  record::LoggedDecision next_;
  bool has_next_ = false;
  bool at_gap_ = false;
  std::optional<record::ReplayedPolicy> policy_;  // Nothing: there is no forecast.
  std::ifstream metrics_;
  std::streamoff metrics_read_ = 0;
  std::deque<Metric> waiting_;  // In the order of their times.
};

}  // namespace outpace::run
