#include "compare/row_summary.h"

#include <algorithm>

#include "base/check.h"

namespace outpace::compare {
namespace {

using Results = std::vector<const RunResult*>;

std::optional<Mean> mean_over(const Results& results, std::optional<double> RunResult::*measured) {
  std::vector<double> values;
  for (const RunResult* result : results) {
    if (const std::optional<double>& value = result->*measured) {
      values.push_back(*value);
    }
  }
  return mean_of(values);
}

void add_means(const Results& results, Summary& summary) {
  summary.examples_per_second = mean_over(results, &RunResult::examples_per_second);
  summary.seconds_to_target = mean_over(results, &RunResult::seconds_to_target);
  summary.final_accuracy = mean_over(results, &RunResult::final_accuracy);
  summary.staleness_mean = mean_over(results, &RunResult::staleness_mean);
  summary.dropped = mean_over(results, &RunResult::dropped);
  summary.fairness = mean_over(results, &RunResult::fairness);
  for (const RunResult* result : results) {
    summary.reached += result->seconds_to_target ? 1U : 0U;
    // An empty optional is less than any number.
    summary.staleness_max = std::max(summary.staleness_max, result->staleness_max);
  }
}

}  // namespace

std::vector<Summary> summaries_of(const Config& config,
                                  const std::vector<Cell>& cells,
                                  const std::vector<Outcome>& outcomes) {
  CHECK(cells.size() == outcomes.size());
  std::vector<Summary> summaries;
  for (std::size_t trace = 0; trace < config.traces.size(); ++trace) {
    for (std::size_t row = 0; row < config.rows.size(); ++row) {
      Summary summary{.row = row, .trace = trace, .seeds = config.seeds.size()};
      Results results;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i].row != row || cells[i].trace != trace) {
          continue;
        }
        if (outcomes[i].result) {
          results.push_back(&*outcomes[i].result);
        } else if (summary.failure.empty()) {
          summary.failure = outcomes[i].failure;
        }
      }
      summary.finished = results.size();
      add_means(results, summary);
      summaries.push_back(std::move(summary));
    }
  }
  return summaries;
}

}  // namespace outpace::compare
