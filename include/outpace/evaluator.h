// The evaluator of an Outpace job, for a trainer that measures its own accuracy: one process beside
// the workers, which measures snapshots of the weights without delaying them.
//
//   auto evaluator = outpace::Evaluator::from_environment();
//   evaluator.join(parameters);
//   while (const auto snapshot = evaluator.next()) {
//     evaluator.report(accuracy_of(snapshot->weights), loss_of(snapshot->weights));
//   }

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "outpace/worker.h"

namespace outpace {

// Weights to evaluate.
struct Snapshot {
  std::span<const float> weights;  // In the parameters' order; until the next call of next().
  std::uint64_t version = 0;       // The updates applied so far.
};

// Belongs to one thread. One evaluator is served at a time; a second one waits in line.
class Evaluator {
 public:
  // Reads the variables that Worker::from_environment() reads, but for OUTPACE_WORKER. Throws
  // WorkerError, which names the variable.
  [[nodiscard]] static Evaluator from_environment();
  // `options.worker` does not count. Does not connect yet.
  explicit Evaluator(WorkerOptions options);
  ~Evaluator();
  Evaluator(Evaluator&& other) noexcept;
  Evaluator& operator=(Evaluator&& other) noexcept;

  // Sets the layout of the weights, the same as the workers'. Throws WorkerError for a wrong one.
  void join(const std::vector<Parameter>& parameters);

  // Waits for the next snapshot; returns nothing when the run is over. Connects anew if the
  // connection is lost. Throws WorkerError if the server is not found within `deadline` at first,
  // or `rejoin_for` later, and with code 4 if the job has other parameters. REQUIRES: the last
  // snapshot was reported.
  [[nodiscard]] std::optional<Snapshot> next();

  // As Worker::constants(), with the first snapshot.
  [[nodiscard]] const std::string& constants() const;

  // While a copy of the result lives, Snapshot::weights stay memory of this process, as
  // Worker::memory() says.
  [[nodiscard]] std::shared_ptr<const void> memory() const;

  // Reports what the last snapshot reached on the test set: the share of right answers, from 0 to
  // 1, and the mean loss, if it was measured. A loss that is not finite counts as 1e30. Throws
  // WorkerError if there is no snapshot to report on, or the accuracy is not a share.
  void report(double accuracy, std::optional<double> loss);
  // The same for anything that was measured.
  void report(const Measured& found);

 private:
  class Job;

  std::unique_ptr<Job> job_;
};

}  // namespace outpace
