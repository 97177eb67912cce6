// A small comparison for tests: two policies, a trace, three seeds, one run of which failed.

#pragma once

#include <string>
#include <vector>

#include "compare/config.h"
#include "compare/row_summary.h"
#include "compare/run_list.h"

namespace outpace::compare {

struct ExampleComparison {
  Config config{.path = "c.toml",
                .mode = Mode::kSimulated,
                .rows = {{.name = "sync", .policy = "sync", .options = {}, .line = 3},
                         {.name = "saps:s=8,action=preempt",
                          .policy = "saps:s=8,action=preempt",
                          .options = {},
                          .line = 3}},
                .seeds = {1, 2, 3},
                .traces = {{.name = "calm", .path = "t/calm.csv", .line = 5}},
                .options = {{.name = "target-accuracy", .values = {"0.84"}, .line = 6}}};
  std::vector<Cell> cells = cells_of(config);
  std::vector<Outcome> outcomes;  // Both policies with seed 1, then with 2, then with 3.

  ExampleComparison() {
    for (int seed = 0; seed < 3; ++seed) {
      const double later = 2.0 * seed;
      outcomes.push_back({.result = RunResult{.examples_per_second = 1000.0 + later,
                                              .seconds = 20.0 + later,
                                              .updates = 100,
                                              .seconds_to_target = 10.0 + later,
                                              .final_accuracy = 0.85,
                                              .staleness_mean = 0.0,
                                              .staleness_max = 0.0,
                                              .dropped = 0.0,
                                              .fairness = 1.0,
                                              .accuracy = {{5.0, 0.6}, {20.0 + later, 0.85}}},
                          .failure = ""});
      outcomes.push_back({.result = RunResult{.examples_per_second = 4000.0,
                                              .seconds = 6.0,
                                              .updates = 400,
                                              .seconds_to_target = std::nullopt,
                                              .final_accuracy = 0.8,
                                              .staleness_mean = 6.5,
                                              .staleness_max = 8.0 + later,
                                              .dropped = 0.25,
                                              .fairness = 0.75,
                                              .accuracy = {{1.0, 0.5}, {6.0, 0.8}}},
                          .failure = ""});
    }
    outcomes[3].result->seconds_to_target = 5.0;
    outcomes[5] = {.result = {}, .failure = "the loss <is> not finite"};
  }

  [[nodiscard]] std::vector<Summary> summaries() const {
    return summaries_of(config, cells, outcomes);
  }
};

}  // namespace outpace::compare
