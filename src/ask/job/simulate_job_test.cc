#include "job/simulate_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

using Simulate = Declared<SimulateJob>;

std::string refusal(const Simulate& simulate) {
  return refusal_of([&] { check(simulate.job); });
}

TEST(SimulateJob, TheDefaultIsAsync) {
  const Simulate simulate;
  EXPECT_EQ(refusal(simulate), "accepted");
  EXPECT_EQ(simulate.job.training.policy.text, "async");
}

TEST(SimulateJob, RefusesOptionsOfLinksWithoutLinks) {
  EXPECT_EQ(refusal(Simulate().give("payload", "400kB")),
            "--payload without --bandwidth or --platform: there are no links");
  EXPECT_EQ(refusal(Simulate().give("bandwidth", "1Gbps")),
            "--payload is missing: how large is a gradient? write --payload 400kB");
  EXPECT_EQ(refusal(Simulate().give("bandwidth", "1Gbps").give("platform", "p.xml")),
            "--bandwidth conflicts with --platform: both describe the links; remove one");
}

TEST(SimulateJob, WithoutLearningNothingIsLearnt) {
  EXPECT_NE(refusal(Simulate().give("target-accuracy", "0.8")).find("add --learn mlp"),
            std::string::npos);
  EXPECT_NE(refusal(Simulate().give("attack", "zero:workers=0")).find("--attack without --learn"),
            std::string::npos);
}

TEST(SimulateJob, NothingIsPackedWhereNothingTakesBytes) {
  EXPECT_NE(refusal(Simulate().give("compress", "int8"))
                .find("--compress without --learn, --bandwidth or --platform"),
            std::string::npos);
  EXPECT_NE(
      refusal(Simulate().give("compress-weights", "delta")).find("--compress-weights without"),
      std::string::npos);
  EXPECT_EQ(refusal(Simulate().give("compress", "int8").give("learn", "mlp")), "accepted");
  EXPECT_EQ(refusal(Simulate()
                        .give("compress-weights", "delta")
                        .give("bandwidth", "1Gbps")
                        .give("payload", "400kB")),
            "accepted");
}

TEST(SimulateJob, AnOracleChoosesForSyncAlone) {
  EXPECT_NE(
      refusal(Simulate().give("oracle", "true")).find("--oracle conflicts with --policy async"),
      std::string::npos);
  EXPECT_EQ(refusal(Simulate().give("oracle", "true").give("policy", "sync")), "accepted");
}

TEST(SimulateJob, AWindowIsAtLeastAPacket) {
  EXPECT_EQ(window_bytes(std::nullopt), 0.0);
  EXPECT_EQ(window_bytes(Bytes{64'000, "64kB"}), 64'000.0);
  EXPECT_NE(refusal_of([] { (void)window_bytes(Bytes{10, "10B"}); }), "accepted");
}

}  // namespace
}  // namespace outpace::job
