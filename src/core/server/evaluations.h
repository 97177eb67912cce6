// Snapshots on their way to the evaluator and back, and when the target accuracy was reached.
//
// A measurement comes some time after its snapshot was taken; what counts is when the version was
// committed. The target is reached when `consecutive` evaluations in a row reach it, and is timed
// at the first of them.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/time.h"
#include "protocol/messages.h"

namespace outpace::server {

struct Evaluation {
  Version version;
  Time committed;
  std::uint64_t examples;          // Applied by then.
  std::optional<double> accuracy;  // Nothing: it was not measured.
  std::optional<double> loss;      // As accuracy.
  std::vector<protocol::NamedValue> values{};

  void keep(Archive& archive) {
    archive("version", version)("committed", committed)("examples", examples);
    archive("accuracy", accuracy)("loss", loss)("values", values);
  }
};

class Evaluations {
 public:
  struct Options {
    std::optional<double> target;
    std::uint32_t consecutive = 3;
    bool ends = true;  // The run, once the target is reached.
  };
  explicit Evaluations(Options options) : options_(options) {}

  // False, and the snapshot is not to be sent, if too many are waiting: the evaluator is slow.
  [[nodiscard]] bool sent(Version version, Time committed, std::uint64_t examples);
  // As sent(), for the run's last weights: they are measured however many are waiting.
  void sent_last(Version version, Time committed, std::uint64_t examples);
  // The evaluator is gone, and what it had with it.
  void lost() {
    waiting_.clear();
    newest_sent_.reset();
  }
  // The evaluation that it completes; nothing if no such snapshot is waiting.
  std::optional<Evaluation> measured(const protocol::Measurement& measurement);

  // What was found for this epoch of the workers' script. The first time that an epoch is asked for
  // it is the newest evaluation, if that was not an earlier epoch's already, or if `version`, the
  // run's, has not gone on since; else nothing yet. Later it is the same, so that all workers hear
  // the same.
  [[nodiscard]] const Evaluation* of_epoch(std::uint64_t epoch, Version version);

  [[nodiscard]] const std::vector<Evaluation>& all() const { return all_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }
  [[nodiscard]] std::optional<Version> newest_sent() const { return newest_sent_; }
  // When the target was reached; nothing if it was not (or not yet).
  [[nodiscard]] std::optional<Time> reached() const { return reached_; }
  // But for what the evaluator has not answered yet.
  void keep(Archive& archive) {
    archive("all", all_)("newest_sent", newest_sent_)("skipped", skipped_)("hits", hits_);
    archive("first_hit", first_hit_)("reached", reached_)("told", told_)("of_epoch", of_epoch_);
  }
  [[nodiscard]] bool ends_run() const { return options_.ends && reached_.has_value(); }

 private:
  Options options_;
  std::deque<Evaluation> waiting_;  // Accuracy and loss not set yet.
  std::vector<Evaluation> all_;
  std::optional<Version> newest_sent_;
  std::uint64_t told_ = 0;                           // How many of all_ are some epoch's.
  std::map<std::uint64_t, std::uint64_t> of_epoch_;  // Places in all_.
  std::uint64_t skipped_ = 0;
  std::uint32_t hits_ = 0;
  Time first_hit_{};
  std::optional<Time> reached_;
};

}  // namespace outpace::server
