#include "throughput/prediction_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace outpace::throughput {
namespace {

struct Predicted {
  std::vector<Row> rows;
  std::vector<IterationPrediction> predictions;
};

Predicted three() {
  return {{{.configuration = {.workers = 8, .nodes = 2, .batch_per_worker = 32},
            .iteration_seconds = 0.5},
           {.configuration = {.workers = 16, .nodes = 4, .batch_per_worker = 32},
            .iteration_seconds = 0.5},
           {.configuration = {.workers = 1, .batch_per_worker = 4000}}},
          {{.seconds = 0.4, .low = 0.3, .high = 0.5},
           {.seconds = 0.6, .low = 0.55, .warnings = {"16 workers: guessed"}},
           {.refusal = "too far"}}};
}

TEST(PredictionTable, IsReadByPeople) {
  const auto& [rows, predictions] = three();
  EXPECT_EQ(
      table_text(rows, predictions),
      "workers  nodes  batch  predicted s    low   high  measured s   error  examples/s  notes\n"
      "      8      2     32        0.400  0.300  0.500       0.500  -20.0%         640\n"
      "     16      4     32        0.600  0.550      ?       0.500  +20.0%         853  [1]\n"
      "      1      1   4000            -      -      -           -       -           -  [2]\n"
      "[1] 16 workers: guessed\n"
      "[2] refused: too far\n"
      "2 measured: errors' median 20.0%, 90th percentile 20.0%, worst 20.0%; 50% are\n"
      "within their interval\n");
}

TEST(PredictionTable, HasAColumnForPoliciesIfThereAreAny) {
  auto [rows, predictions] = three();
  rows[0].configuration.policy = "sync";
  const std::string text = table_text(rows, predictions);
  EXPECT_NE(text.find("batch  policy  predicted s"), std::string::npos) << text;
  EXPECT_EQ(text.find("topology"), std::string::npos) << text;
}

TEST(PredictionTable, IsReadByPrograms) {
  const auto& [rows, predictions] = three();
  const auto found = nlohmann::json::parse(table_json(rows, predictions));
  EXPECT_NEAR(found["median_absolute_error"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(found["measured"], 2);
  ASSERT_EQ(found["rows"].size(), 3U);
  const auto& first = found["rows"][0];
  EXPECT_EQ(first["workers"], 8);
  EXPECT_EQ(first["iteration_seconds_predicted"], 0.4);
  EXPECT_NEAR(first["error"].get<double>(), -0.2, 1e-12);
  EXPECT_FALSE(first.contains("policy"));
  EXPECT_TRUE(found["rows"][1]["high"].is_null());
  EXPECT_EQ(found["rows"][1]["warnings"][0], "16 workers: guessed");
  EXPECT_TRUE(found["rows"][2]["iteration_seconds_predicted"].is_null());
  EXPECT_EQ(found["rows"][2]["refused"], "too far");
}

TEST(PredictionTable, WithoutMeasurementsHasNoErrors) {
  auto [rows, predictions] = three();
  rows[0].iteration_seconds.reset();
  rows[1].iteration_seconds.reset();
  EXPECT_EQ(table_text(rows, predictions).find("errors'"), std::string::npos);
  EXPECT_EQ(table_text(rows, predictions).find("measured"), std::string::npos);
  EXPECT_TRUE(
      nlohmann::json::parse(table_json(rows, predictions))["median_absolute_error"].is_null());
}

TEST(PredictionTable, OfThroughputTurnsTheIntervalRound) {
  const auto& [rows, predictions] = three();
  const auto found = nlohmann::json::parse(throughput_json(rows, predictions))["predictions"];
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0]["model"], "calibrated");
  EXPECT_EQ(found[0]["bottleneck"], "compute");
  EXPECT_DOUBLE_EQ(found[0]["examples_per_second"].get<double>(), 8 * 32 / 0.4);
  EXPECT_DOUBLE_EQ(found[0]["low"].get<double>(), 8 * 32 / 0.5);
  EXPECT_DOUBLE_EQ(found[0]["high"].get<double>(), 8 * 32 / 0.3);
  EXPECT_TRUE(found[1]["low"].is_null());  // It may take any time.
  EXPECT_TRUE(found[2]["examples_per_second"].is_null());
  EXPECT_TRUE(found[2]["high"].is_null());
  EXPECT_EQ(found[2]["refused"], "too far");
}

}  // namespace
}  // namespace outpace::throughput
