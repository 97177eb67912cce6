#include "compare/csv.h"

#include <sstream>

#include <gtest/gtest.h>

#include "compare/comparison_test.h"

namespace outpace::compare {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(Csv, HasARowARun) {
  ExampleComparison example;
  example.outcomes[5].failure = "said \"no\"";
  const auto lines = lines_of(runs_csv(example.config, example.cells, example.outcomes));
  ASSERT_EQ(lines.size(), 7);
  EXPECT_EQ(lines[1], "calm,sync,sync,1,done,1000,20,100,10,0.85,0,0,0,1,");
  EXPECT_EQ(lines[2],
            "calm,\"saps:s=8,action=preempt\",\"saps:s=8,action=preempt\",1,done,4000,6,400,,"
            "0.8,6.5,8,0.25,0.75,");
  EXPECT_EQ(lines[6],
            "calm,\"saps:s=8,action=preempt\",\"saps:s=8,action=preempt\",3,failed,,,,,,,,,,"
            "\"said \"\"no\"\"\"");
}

TEST(Csv, TheSummaryHasARowATraceAndPolicy) {
  const ExampleComparison example;
  const auto lines = lines_of(summary_csv(example.config, example.summaries()));
  ASSERT_EQ(lines.size(), 3);
  EXPECT_TRUE(lines[0].starts_with(
      "trace,name,policy,seeds,finished,reached,staleness_max,"
      "examples_per_second,examples_per_second_half_width,examples_per_second_n,"));
  EXPECT_TRUE(lines[1].starts_with("calm,sync,sync,3,3,3,0,1002,4.96")) << lines[1];
  EXPECT_NE(lines[2].find(",5,,1,"), std::string::npos) << lines[2];
  EXPECT_TRUE(lines[2].ends_with(",the loss <is> not finite")) << lines[2];
}

}  // namespace
}  // namespace outpace::compare
