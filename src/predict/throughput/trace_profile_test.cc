#include "throughput/trace_profile.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/rng.h"
#include "throughput/small_trace_test.h"

namespace outpace::throughput {
namespace {

TraceFindings findings_in(const TraceWriter& writer, const std::string& file = "t.json") {
  return findings_of(read_trace(writer.text()), file);
}

TEST(TraceProfile, HasTheWorkersTimeAndSaysWhatItLacks) {
  const std::vector<TraceFindings> ranks{findings_in(small_trace(6, {}))};
  const MeasuredProfile profile = profile_of(ranks, {.batch = 32});
  EXPECT_EQ(profile.batch, 32U);
  EXPECT_EQ(profile.payload_bytes(), 80.0);
  EXPECT_EQ(profile.manifest.tensors.size(), 2U);
  ASSERT_EQ(profile.iterations.size(), 5U);
  EXPECT_NEAR(profile.iterations.front().compute_seconds, 900e-6, 1e-12);
  EXPECT_NEAR(profile.iterations.front().rest_seconds, 100e-6, 1e-12);
  EXPECT_EQ(profile.layers.size(), 2U);
  EXPECT_NEAR(profile.apply_seconds, 100e-6, 1e-12);
  EXPECT_EQ(
      profile.caveat(),
      "not measured, because the profile comes from a trace: apply_seconds (taken from PyTorch's "
      "optimizer), byte_seconds (assumed 0), message_seconds (assumed 0)");
  const MeasuredProfile read = MeasuredProfile::parse(profile.to_json(""), "p.json");
  EXPECT_EQ(read.not_measured, profile.not_measured);
  EXPECT_EQ(read.iterations, profile.iterations);
}

TEST(TraceProfile, TakesWhatTheUserSays) {
  const std::vector<TraceFindings> ranks{
      findings_in(small_trace(6, {.dialect = TraceDialect::kLegacy, .shapes = false}))};
  const MeasuredProfile profile = profile_of(ranks,
                                             {.batch = 8,
                                              .payload_bytes = 4001.0,
                                              .apply_seconds = 0.0,
                                              .message_seconds = 1e-4,
                                              .byte_seconds = 1e-9});
  EXPECT_EQ(profile.payload_bytes(), 4004.0);
  EXPECT_EQ(profile.apply_seconds, 0.0);
  EXPECT_EQ(profile.message_seconds, 1e-4);
  EXPECT_EQ(profile.byte_seconds, 1e-9);
  EXPECT_EQ(profile.caveat(), "");
}

TEST(TraceProfile, MixesRanks) {
  const std::vector<TraceFindings> ranks{findings_in(small_trace(6, {}), "0.json"),
                                         findings_in(small_trace(7, {}), "1.json")};
  const MeasuredProfile profile = profile_of(ranks, {.batch = 32});
  EXPECT_EQ(profile.iterations.size(), 11U);
  EXPECT_EQ(profile.layers.size(), 2U);
}

TEST(TraceProfile, TakesWhatAJobGives) {
  job::ProfileJob job;
  job.training.batch = 32;
  TraceGivens givens = givens_of(job);
  EXPECT_EQ(givens.batch, 32U);
  EXPECT_FALSE(givens.payload_bytes || givens.apply_seconds || givens.message_seconds ||
               givens.byte_seconds);
  job.traces.payload = job::Value<job::Bytes>::parse("4kB");
  job.traces.apply = std::chrono::milliseconds(3);
  job.traces.message = std::chrono::microseconds(100);
  job.traces.copy_rate = job::Value<job::Bandwidth>::parse("2GBps");
  givens = givens_of(job);
  EXPECT_EQ(givens.payload_bytes, 4000.0);
  EXPECT_DOUBLE_EQ(*givens.apply_seconds, 0.003);
  EXPECT_DOUBLE_EQ(*givens.message_seconds, 1e-4);
  EXPECT_DOUBLE_EQ(*givens.byte_seconds, 0.5e-9);
}

// Bytes of a trace changed at random: a profile whose numbers are right, or a refusal.
TEST(TraceProfile, SurvivesDamage) {
  const std::string whole = small_trace(6, {}).text();
  Rng rng(11, 0);
  int read = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = whole;
    for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
      constexpr std::string_view kBytes = "0123456789-e.,:\"{}[] aX";
      text[rng.below(text.size())] = kBytes[rng.below(kBytes.size())];
    }
    try {
      const std::vector<TraceFindings> ranks{findings_of(read_trace(text), "t.json")};
      const MeasuredProfile profile = profile_of(ranks, {.batch = 32, .payload_bytes = 80.0});
      EXPECT_EQ(MeasuredProfile::parse(profile.to_json(""), "p.json").layers.size(),
                profile.layers.size());
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      EXPECT_EQ(std::string(error.what()).substr(0, 7), "t.json:") << error.what();
    }
  }
  EXPECT_GT(read, 100);  // Many changes are of what a trace may well say.
}

TEST(TraceProfile, NeverGuessesThePayload) {
  const auto refused = [](const std::vector<TraceFindings>& ranks, const TraceGivens& givens) {
    return refusal_of([&] { (void)profile_of(ranks, givens); });
  };
  const TraceFindings with_shapes = findings_in(small_trace(6, {}), "0.json");
  const TraceFindings without = findings_in(small_trace(6, {.shapes = false}), "1.json");
  EXPECT_EQ(refused({with_shapes, without}, {.batch = 32}),
            "1.json: the size of the gradient is unknown: shapes of gradients were not "
            "recorded (record_shapes=True); give --parameters 11.7M, which is sum(p.numel() for p "
            "in net.parameters()), or --payload 44.7MB");
  const TraceFindings legacy =
      findings_in(small_trace(6, {.dialect = TraceDialect::kLegacy, .shapes = false}), "1.json");
  EXPECT_NE(refused({legacy}, {.batch = 32}).find("which has no Kineto, exports no shapes"),
            std::string::npos);
  TraceFindings other = with_shapes;
  other.file = "1.json";
  other.pass.gradient_bytes = {20, 64};
  EXPECT_EQ(refused({with_shapes, other}, {.batch = 32}),
            "1.json: its gradient differs from that of 0.json; are they of one job?");
  EXPECT_EQ(refused({with_shapes}, {.batch = 32, .payload_bytes = 1e300}),
            "0.json: a gradient of 1e+300 bytes in 1 tensors, and more than 1.72e+10 bytes or "
            "65536 tensors cannot be trained");
}

}  // namespace
}  // namespace outpace::throughput
