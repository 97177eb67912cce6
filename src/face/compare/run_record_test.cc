#include "compare/run_record.h"

#include <gtest/gtest.h>

namespace outpace::compare {
namespace {

nlohmann::ordered_json summary() {
  return nlohmann::ordered_json::parse(R"({
    "seconds": 12.5, "updates": 40, "examples_per_second": 1000.0,
    "gradients_applied": 80, "gradients_dropped": 15, "gradients_cancelled": 4,
    "gradients_refused": 0, "gradients_filtered": 1,
    "seconds_to_target": null, "final_accuracy": 0.75,
    "staleness": {"mean": 1.5, "max": 4, "p99": 4, "histogram": {}},
    "workers_detail": [{"examples": 100}, {"examples": 300}],
    "evaluations": [{"seconds": 3.0, "accuracy": 0.5}, {"seconds": 6.0, "accuracy": null},
                    {"seconds": 9.0, "accuracy": 0.75}]})");
}

TEST(RunResult, IsReadFromWhatARunPrints) {
  const RunResult result = result_of(summary());
  EXPECT_EQ(result.examples_per_second, 1000.0);
  EXPECT_EQ(result.updates, 40);
  EXPECT_EQ(result.seconds_to_target, std::nullopt);
  EXPECT_EQ(result.final_accuracy, 0.75);
  EXPECT_EQ(result.staleness_mean, 1.5);
  EXPECT_EQ(result.staleness_max, 4.0);
  EXPECT_EQ(result.dropped, 0.2);
  EXPECT_EQ(result.fairness, 0.8);
  EXPECT_EQ(result.accuracy, (std::vector<AccuracyAt>{{3.0, 0.5}, {9.0, 0.75}}));
}

TEST(RunResult, ARunWithoutAGradientHasNoShares) {
  nlohmann::ordered_json none = summary();
  for (const char* key :
       {"gradients_applied", "gradients_dropped", "gradients_cancelled", "gradients_filtered"}) {
    none[key] = 0;
  }
  none["workers_detail"] = nlohmann::ordered_json::array();
  const RunResult result = result_of(none);
  EXPECT_EQ(result.dropped, std::nullopt);
  EXPECT_EQ(result.fairness, std::nullopt);
}

TEST(RunRecord, IsTrustedOnlyIfWholeAndOfTheSameRun) {
  const Identity identity{.words = {"simulate", "--policy=sync"}, .files = 7};
  const std::string text = record_text(identity, "abc", summary());
  const auto kept = read_record(text, identity);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->commit, "abc");
  EXPECT_EQ(kept->result.final_accuracy, 0.75);
  EXPECT_FALSE(read_record(text, {.words = {"simulate", "--policy=async"}, .files = 7}));
  EXPECT_FALSE(read_record(text, {.words = identity.words, .files = 8}));
  EXPECT_FALSE(read_record("", identity));
  EXPECT_FALSE(read_record("{}", identity));
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_FALSE(read_record(text.substr(0, size), identity)) << size;
  }
}

}  // namespace
}  // namespace outpace::compare
