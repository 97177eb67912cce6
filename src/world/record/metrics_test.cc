#include "record/metrics.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

TEST(Metrics, AreALineAMomentAndALineAnEvaluation) {
  const TemporaryDirectory directory;
  MetricsWriter writer(directory / "metrics.jsonl");
  writer.append({.seconds = 1.5, .version = 10, .examples = 320, .training_loss = 2.25, .live = 8});
  writer.append({.version = Version{10},
                 .committed = Time{from_seconds(1.25)},
                 .examples = 320,
                 .accuracy = 0.5,
                 .loss = 1.75});
  writer.close();
  EXPECT_EQ(contents(directory / "metrics.jsonl"),
            R"({"seconds":1.5,"version":10,"examples":320,"training_loss":2.25,"live":8})"
            "\n"
            R"({"seconds":1.25,"version":10,"examples":320,"accuracy":0.5,"loss":1.75})"
            "\n");
}

TEST(Metrics, HaveNoLossThatWasNotMeasured) {
  const TemporaryDirectory directory;
  MetricsWriter writer(directory / "metrics.jsonl");
  writer.append(server::Evaluation{
      .version = Version{10}, .committed = Time{}, .examples = 320, .accuracy = 0.5, .loss = {}});
  writer.close();
  EXPECT_EQ(contents(directory / "metrics.jsonl"),
            R"({"seconds":0.0,"version":10,"examples":320,"accuracy":0.5})"
            "\n");
}

TEST(Metrics, HaveNullForALossThatDiverged) {
  const TemporaryDirectory directory;
  MetricsWriter writer(directory / "metrics.jsonl");
  writer.append(TrainingMetrics{.training_loss = std::numeric_limits<double>::infinity()});
  writer.close();
  EXPECT_EQ(contents(directory / "metrics.jsonl"),
            R"({"seconds":0.0,"version":0,"examples":0,"training_loss":null,"live":0})"
            "\n");
}

}  // namespace
}  // namespace outpace::record
