#include "compare/summary_json.h"

#include <gtest/gtest.h>

#include "compare/comparison_test.h"

namespace outpace::compare {
namespace {

TEST(SummaryJson, HasARowAPolicyAndWhatFailed) {
  const ExampleComparison example;
  const auto json = summary_json(example.config, example.cells, example.outcomes);
  EXPECT_EQ(json["cells"], 6);
  ASSERT_EQ(json["failed"].size(), 1);
  EXPECT_EQ(json["failed"][0]["cell"], "calm, saps:s=8,action=preempt, seed 3");
  EXPECT_EQ(json["failed"][0]["reason"], "the loss <is> not finite");
  ASSERT_EQ(json["rows"].size(), 2);
  EXPECT_EQ(json["rows"][0]["seconds_to_target"]["mean"], 12.0);
  EXPECT_EQ(json["rows"][0]["seconds_to_target"]["n"], 3);
  EXPECT_TRUE(json["rows"][1]["seconds_to_target"]["half_width"].is_null());
  EXPECT_EQ(json["rows"][1]["staleness_max"], 10.0);
}

}  // namespace
}  // namespace outpace::compare
