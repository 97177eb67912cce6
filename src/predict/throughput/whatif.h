// How much faster a run would have been: the run again in virtual time, with other workers or under
// another policy, at the pace that its record has.
//
// The policies, the server and the workers' inboxes are those of a live run (sim/cluster.h). What a
// worker takes comes from the record (recorded_timing.h). A ratio is of two simulations, that of
// the question and that of the run as it was, so that what the simulation has wrong of both
// cancels; J. Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis"
// (OSDI 2025), section 3, does the same for training without a parameter server.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "policy/recorded_run.h"
#include "server/statistics.h"
#include "throughput/recorded_timing.h"

namespace outpace::throughput {

// The most workers that can be asked for.
inline constexpr std::uint32_t kWhatIfWorkersMax = 10'000;

struct Answer {
  std::string question;  // "without worker 7".
  std::string policy;
  std::uint32_t workers = 0;
  double examples_per_second = 0.0;  // What was measured, times the ratio.
  double ratio = 1.0;                // To the run as it was, both simulated.
  // Steps along exact gradients a second (policy/progress.h), beside the run as it was: how much
  // sooner the loss should be as low. Nothing if the noise scale was not measured, or with local
  // steps.
  std::optional<double> progress;
  // Until what the run reached would have been reached. Nothing if it reached nothing, or as above.
  std::optional<double> seconds_to_reached;
  // The interval that has nine in ten resamplings of the record's time; nothing if it is too short.
  std::optional<double> low;
  std::optional<double> high;
};

// What the run lost to one worker being slower than the median of the others, as a share of its
// time. `alone`: what is gained if only this worker is at that median. Two that are equally slow
// hide each other: alone, neither gains anything. `share` is the mean of that and of what is still
// gained by it once all others are at the median; of two stragglers it is Shapley's value, and adds
// up.
struct LostTo {
  WorkerId worker;
  double share;
  double alone;
};

class WhatIf {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::uint32_t resamplings = 20;
  };

  // Throws a usage error if the record is too poor: no worker finished anything, nothing was
  // committed, or its policy is none that can be simulated.
  WhatIf(const policy::RecordedRun& run, const Options& options);

  [[nodiscard]] double replayed_examples_per_second() const { return as_it_was_.front().examples; }
  // Workers of which nothing is known, for they finished nothing: they are away.
  [[nodiscard]] const std::vector<WorkerId>& unknown() const { return unknown_; }

  // Each throws a usage error if there is no such worker, policy or number of workers.
  [[nodiscard]] Answer as_it_was() const;
  [[nodiscard]] Answer without(std::uint32_t worker) const;
  // Each mini-batch takes the median over the workers of what one begun then took of its own.
  [[nodiscard]] Answer at_the_median() const;
  // Nothing where it is not known how much of an iteration was communication.
  [[nodiscard]] std::optional<Answer> with_a_faster_link() const;
  [[nodiscard]] Answer under(const std::string& policy) const;
  // More than there were: copies of them, whose record is read from another moment on.
  [[nodiscard]] Answer with_workers(std::uint32_t workers) const;

  // What the slowest workers cost, eight at most, by number.
  [[nodiscard]] std::vector<LostTo> lost_to_workers() const;

 private:
  // What a seat's runtimes are: as recorded, at the median of all, of the others, or with half the
  // communication.
  enum class Pace : std::uint8_t { kRecorded, kMedian, kMedianOfOthers, kFasterLink };
  struct Scenario {
    std::string question;
    std::string policy;
    std::vector<Seat> seats;
    double link_speed = 1.0;  // Times what it was.
  };

  [[nodiscard]] std::uint32_t count() const {
    return static_cast<std::uint32_t>(run_.workers.size());
  }
  [[nodiscard]] std::uint32_t column(Pace pace, std::uint32_t worker) const;
  [[nodiscard]] Scenario all(const std::string& question, Pace pace) const;
  [[nodiscard]] Answer answer(const Scenario& scenario) const;
  // A second; 0 if nothing was committed.
  struct Rates {
    double examples = 0.0;
    double progress = 0.0;
  };
  [[nodiscard]] Rates simulate(const Scenario& scenario, const Blocks& blocks) const;
  [[nodiscard]] double progress_of(const server::Statistics& done) const;
  // Completes the answer by how much sooner it learns.
  void add_progress(double progress, Answer& answer) const;
  [[nodiscard]] double seconds_an_example(const Scenario& scenario) const;

  // Constant after construction.
  const policy::RecordedRun run_;
  const std::uint64_t seed_;
  const double messages_;  // Seconds of a release's two that are not in the columns (own_time.h).
  std::vector<WorkerId> unknown_;
  std::vector<Column> columns_;   // A pace after the other, each of all workers.
  std::vector<Blocks> blocks_;    // The record in its order, then the resamplings.
  std::vector<Rates> as_it_was_;  // One for each of them.
};

}  // namespace outpace::throughput
