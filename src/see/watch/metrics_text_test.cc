#include "watch/metrics_text.h"

#include <gtest/gtest.h>

#include "watch/rounds_test.h"

namespace outpace::watch {
namespace {

TEST(MetricsText, GivesEachMetricOnceWithHelpAndType) {
  Rounds run({.name = "a\"\\b", .workers = 3});
  run.rounds(40);
  const std::string text = metrics_text(run.board, "1.2");
  EXPECT_NE(text.find("outpace_build_info{version=\"1.2\",policy=\"a\\\"\\\\b\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("# TYPE outpace_updates_total counter\noutpace_updates_total 40\n"),
            std::string::npos);
  EXPECT_NE(text.find("outpace_staleness_updates_bucket{le=\"+Inf\"} 80\n"), std::string::npos);
  EXPECT_NE(text.find("outpace_gradients_total{fate=\"cancelled\"} 40\n"), std::string::npos);
  EXPECT_NE(text.find("outpace_worker_runtime_seconds_count{worker=\"1\"} 40\n"),
            std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace outpace::watch
