#include "throughput/gossip_events.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

constexpr std::uint32_t kMinibatch = 10;

GossipOfEvents gossip_of(std::vector<double> factors, double meeting_seconds) {
  return {.timing = {.draw = draw_measured({0.1}, 1),
                     .paces = std::vector<worker::Pace>(factors.size(), worker::Pace({})),
                     .factors = std::move(factors)},
          .pace = job::GossipPace::kCoupled,
          .meeting_seconds = meeting_seconds,
          .apply_seconds = 0.1,
          .batch = kMinibatch};
}

double rate_of(const GossipOfEvents& gossip) {
  return gossip_rate_by_events(gossip, 400).examples_per_second;
}

TEST(GossipEvents, FreeWorkersGoAtTheirOwnPace) {
  GossipOfEvents gossip = gossip_of({1, 4}, 10.0);
  gossip.pace = job::GossipPace::kFree;
  EXPECT_NEAR(rate_of(gossip), kMinibatch * (1 / 0.2 + 1 / 0.5), 1.0);
  gossip = gossip_of({1, 1}, 10.0);
  gossip.pace = job::GossipPace::kFree;
  gossip.apply_seconds = 0.0;
  gossip.timing.cores = 1;
  EXPECT_NEAR(rate_of(gossip), kMinibatch / 0.1, 1.0);
}

TEST(GossipEvents, MeetingsHideBehindComputing) {
  EXPECT_NEAR(rate_of(gossip_of({1, 1}, 0.05)), 2 * kMinibatch / 0.2, 1.0);
  EXPECT_NEAR(rate_of(gossip_of({1, 1, 1, 1}, 0.02)), 4 * kMinibatch / 0.2, 1.0);
}

TEST(GossipEvents, ACoupledGradientWaitsForAMeetingOfItsOwn) {
  // Two workers hold their two meetings one after the other.
  EXPECT_NEAR(rate_of(gossip_of({1, 1}, 1.0)), kMinibatch / 1.0, 0.5);
  // Three: the one that answers is at all meetings.
  EXPECT_NEAR(rate_of(gossip_of({1, 1, 1}, 1.0)), kMinibatch / 1.0, 0.5);
  // Four: two meetings at once at most, and fewer when both ask the same worker.
  const double four = rate_of(gossip_of({1, 1, 1, 1}, 1.0));
  EXPECT_LT(four, 2 * kMinibatch / 1.0);
  EXPECT_GT(four, 1.4 * kMinibatch / 1.0);
  EXPECT_NEAR(rate_of(gossip_of({1}, 0.5)), kMinibatch / 0.2, 1.0);
}

TEST(GossipEvents, AWorkerIsAtOneMeetingAtATime) {
  GossipOfEvents gossip = gossip_of({1, 2, 1, 1, 3}, 0.15);
  std::vector<Time> met(5);
  int meetings = 0;
  int computed = 0;
  gossip.performed = [&](const sim::Operation& one) {
    computed += one.kind == sim::Operation::Kind::kCompute ? 1 : 0;
    if (one.kind == sim::Operation::Kind::kSend) {
      EXPECT_LE(met[one.worker], one.begin);
      met[one.worker] = one.end;
      ++meetings;
    }
  };
  (void)rate_of(gossip);
  EXPECT_NEAR(meetings, 2 * computed, 15);  // Each gradient with one, of two workers.
}

}  // namespace
}  // namespace outpace::throughput
