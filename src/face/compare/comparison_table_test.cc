#include "compare/comparison_table.h"

#include <gtest/gtest.h>

#include "compare/comparison_test.h"

namespace outpace::compare {
namespace {

TEST(Table, ShowsARowAPolicy) {
  const ExampleComparison example;
  EXPECT_EQ(tables_of(example.config, example.summaries()),
            R"(calm (t/calm.csv), simulated, 3 seeds each
policy                   examples/s  s to 84%  +-95%  reached  accuracy  staleness  max  dropped  fairness
sync                          1,002      12.0  4.968      3/3     85.0%       0.00    0     0.0%     1.000
saps:s=8,action=preempt       4,000     5.000      -      1/2     80.0%       6.50   10    25.0%     0.750

Means over seeds; +-95%: half the width of the 95% interval of the seconds to the target (Student's t,
n = the seeds that reached it).
staleness and max in updates; dropped: share of the gradients; fairness: Jain's index of workers' examples.
Where not all reached the target, the seconds are of those that did.
)");
}

TEST(Table, WithoutATargetNothingIsSaidOfIt) {
  ExampleComparison example;
  example.config.options.clear();
  const std::string text = tables_of(example.config, example.summaries());
  EXPECT_NE(text.find("policy                   examples/s  accuracy  staleness"),
            std::string::npos);
  EXPECT_EQ(text.find("95%"), std::string::npos);
}

TEST(Table, ARowThatFailedSaysWhy) {
  ExampleComparison example;
  for (const std::size_t i : {0U, 2U, 4U}) {
    example.outcomes[i] = {.result = {}, .failure = "too few workers"};
  }
  const std::string text = tables_of(example.config, example.summaries());
  EXPECT_NE(text.find("sync                     failed: too few workers\n"), std::string::npos);
  EXPECT_EQ(failures_of(example.config, example.cells, example.outcomes),
            "failed: calm, sync, seed 1: too few workers\n"
            "failed: calm, sync, seed 2: too few workers\n"
            "failed: calm, sync, seed 3: too few workers\n"
            "failed: calm, saps:s=8,action=preempt, seed 3: the loss <is> not finite\n");
}

TEST(Table, ATargetOfItsOwnHasNoPlaceInTheHead) {
  ExampleComparison example;
  EXPECT_EQ(target_of(example.config), 0.84);
  example.config.rows[0].options = {{.name = "target-accuracy", .values = {"0.5"}, .line = 9}};
  EXPECT_EQ(target_of(example.config), std::nullopt);
  const std::string text = tables_of(example.config, example.summaries());
  EXPECT_NE(text.find("s to target"), std::string::npos);
}

}  // namespace
}  // namespace outpace::compare
