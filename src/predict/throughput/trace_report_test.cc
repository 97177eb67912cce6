#include "throughput/trace_report.h"

#include <gtest/gtest.h>

#include "throughput/small_trace_test.h"

namespace outpace::throughput {
namespace {

TraceFindings findings_from(const TraceWriter& writer, const std::string& file) {
  return findings_of(read_trace(writer.text()), file);
}

TEST(TraceReport, ShowsThePartsOfAStepAndWhatTheProfileLacks) {
  const std::vector<TraceFindings> ranks{findings_from(small_trace(6, {}), "t.json")};
  const MeasuredProfile profile = profile_of(ranks, {.batch = 32});
  const std::string report = trace_report(ranks, profile, false);
  EXPECT_TRUE(report.starts_with(
      "t.json: Kineto dialect, 6 steps by ProfilerStep, the first left out to warm up\n"))
      << report;
  for (const char* line :
       {"  step           1.000 ms (median of 5; 5 % to 95 %: 1.000 to 1.000)\n",
        "    forward          0.350 ms\n",
        "    backward         0.400 ms\n",
        "    optimizer        0.100 ms\n",
        "    communication    0.000 ms not hidden\n",
        "    other            0.150 ms Python, data, the profiler\n",
        "computing        0.900 ms of mini-batches of 32: steps without optimizer and "
        "communication\n",
        "payload          8e-05 MB, by the shapes of gradients (2)\n",
        "layers               2\n"}) {
    EXPECT_NE(report.find(line), std::string::npos) << line << "\n" << report;
  }
  EXPECT_TRUE(report.ends_with(profile.caveat() + "\n"));
}

TEST(TraceReport, NamesAPayloadThatWasGivenAndLayersThatAreUnknown) {
  const std::vector<TraceFindings> ranks{
      findings_from(small_trace(6, {.dialect = TraceDialect::kLegacy, .shapes = false}), "t.json")};
  MeasuredProfile profile = profile_of(ranks, {.batch = 8, .payload_bytes = 4e6});
  profile.layers.clear();
  const std::string report = trace_report(ranks, profile, true);
  EXPECT_NE(report.find("MB, as given\n"), std::string::npos);
  EXPECT_NE(report.find("unknown: communication is assumed to wait for all of them\n"),
            std::string::npos);
}

TEST(TraceReport, NamesASlowRank) {
  const std::vector<TraceFindings> ranks{findings_from(small_trace(6, {}), "0.json"),
                                         findings_from(small_trace(6, {}), "1.json")};
  const MeasuredProfile profile = profile_of(ranks, {.batch = 32});
  EXPECT_EQ(trace_report(ranks, profile, false).find("computes"), std::string::npos);
  TraceFindings behind = ranks[1];
  for (TraceStep& step : behind.steps.steps) {
    step.when.end += 900 * kMicro;  // It computes for 900 us.
  }
  EXPECT_NE(trace_report({ranks[0], behind}, profile, false)
                .find("1.json: computes 2.00 times as long as the fastest rank"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::throughput
