#include "record/runtime_trace.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::record {
namespace {

std::string refusal_of_table(const std::string& text) {
  return refusal_of([&] { (void)parse_runtimes(text, "r.csv"); });
}

TEST(RuntimeTrace, HasARowForEachIterationAndAColumnForEachWorker) {
  const runtime_model::Trace trace =
      parse_runtimes("# worker 3 was left out\n\n0.1,0.2,0.3\n0.4, 0.5 ,0.6\n", "r.csv");
  EXPECT_EQ(trace.workers(), 3U);
  EXPECT_EQ(trace.rows(), 2U);
  EXPECT_EQ(trace.row(0)[2], 0.3);
  EXPECT_EQ(trace.row(1)[1], 0.5);
}

TEST(RuntimeTrace, TakesTwoRowsAtLeast) {
  EXPECT_EQ(refusal_of_table("0.1,0.2\n"), "r.csv: has one row; it takes at least two iterations");
}

TEST(RuntimeTrace, TakesSecondsAboveZero) {
  EXPECT_EQ(refusal_of_table("0.1,0.2\n0.1,0\n"),
            "r.csv: row 2, column 2 is 0; it takes a runtime above 0 seconds");
}

TEST(RuntimeTrace, NamesTheLineThatIsWrong) {
  for (const char* wrong : {"0.1,0.2\n0.1\n", "0.1,0.2\n0.1,nan\n", "0.1,0.2\n0.1,-1\n"}) {
    EXPECT_TRUE(refusal_of_table(wrong).starts_with("r.csv:2")) << refusal_of_table(wrong);
  }
  EXPECT_NE(refusal_of_table("").find("r.csv"), std::string::npos);
}

}  // namespace
}  // namespace outpace::record
