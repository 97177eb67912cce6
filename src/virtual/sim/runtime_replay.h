// Replays measured runtimes from a table with a row for each iteration and a column for each
// worker, which is the form of a run's runtimes.csv.
//
// By iteration, each worker walks down its column with its own iterations. By time, the run's clock
// at the mini-batch's start gives the row, and a new row begins every `period`. Rows wrap round.
// Workers beyond the columns are copies of the cluster. Each copy begins at a random row, the same
// for all its workers, so that workers that were slow together stay slow together.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/distribution.h"
#include "sim/redraws.h"

namespace outpace::sim {

class Replay final : public Distribution {
 public:
  struct Options {
    Axis axis = Axis::kIteration;
    Duration period = std::chrono::seconds(1);  // How long a row lasts, by time; at least 1 ns.
  };

  // Reads the table as --delays does (worker/pace.h). Throws a usage error, with `name` for the
  // file, if it is no such table or a runtime is 0.
  static Replay parse(std::string_view text, const std::string& name, Options options);

  [[nodiscard]] double draw(const Draw& draw) const override;
  // Over the whole table: for a random column and a random row.
  [[nodiscard]] double mean() const override { return mean_; }
  [[nodiscard]] double variance() const override { return variance_; }
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  Replay(Options options, std::vector<double> seconds, std::size_t columns);

  // Constant after construction.
  Options options_;
  std::vector<double> seconds_;  // Column by column.
  std::vector<double> sorted_;
  std::size_t columns_;
  std::size_t rows_;
  double mean_ = 0.0;
  double variance_ = 0.0;
};

}  // namespace outpace::sim
