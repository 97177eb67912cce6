#include "throughput/gossip_events.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

constexpr std::uint32_t kMinibatch = 10;

GossipOfEvents gossip_of(std::vector<double> factors, double meeting_seconds) {
  return {.timing = {.draw = draw_measured({0.1}, 1),
                     .paces = std::vector<worker::Pace>(factors.size(), worker::Pace({})),
                     .factors = std::move(factors)},
          .options = {},
          .meeting_seconds = meeting_seconds,
          .apply_seconds = 0.1,
          .batch = kMinibatch};
}

double rate_of(const GossipOfEvents& gossip) {
  return gossip_rate_by_events(gossip, 400).examples_per_second;
}

TEST(GossipEvents, FreeWorkersGoAtTheirOwnPace) {
  GossipOfEvents gossip = gossip_of({1, 4}, 10.0);
  gossip.options.averaging = job::Averaging::kFree;
  EXPECT_NEAR(rate_of(gossip), kMinibatch * (1 / 0.2 + 1 / 0.5), 1.0);
  gossip = gossip_of({1, 1}, 10.0);
  gossip.options.averaging = job::Averaging::kFree;
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

TEST(GossipEvents, SomeGradientsWaitForNoMeeting) {
  GossipOfEvents gossip = gossip_of({1, 1}, 1.0);
  gossip.options.average_every = 10;
  // Nine gradients of 0.2 s, and one that waits for its meeting, which begins with it.
  EXPECT_NEAR(rate_of(gossip), 2 * kMinibatch * 10 / 2.9, 1.0);
}

TEST(GossipEvents, TwoVisitorsOfEachOtherTakeTurns) {
  for (const job::Averaging averaging : {job::Averaging::kPull, job::Averaging::kPush}) {
    GossipOfEvents gossip = gossip_of({1, 1}, 1.0);
    gossip.options = {.averaging = averaging, .graph = worker::Graph::kComplete};
    gossip.message_seconds = 0.1;
    // The question, or the answer to it, is behind the weights of the other visit: 1.1 s each.
    EXPECT_NEAR(rate_of(gossip), 2 * kMinibatch / 2.2, 0.2);
  }
}

TEST(GossipEvents, AVisitTakesItsMessagesAndATransfer) {
  GossipOfEvents gossip = gossip_of({1, 10'000}, 1.0);  // The other one computes nearly always.
  gossip.message_seconds = 0.1;
  // Asked, 1 s, there; and the step.
  gossip.options = {.averaging = job::Averaging::kPull, .graph = worker::Graph::kComplete};
  EXPECT_NEAR(rate_of(gossip), kMinibatch / 1.3, 0.1);
  // Asked, ready, 1 s, there, said so; and the step.
  gossip.options.averaging = job::Averaging::kPush;
  EXPECT_NEAR(rate_of(gossip), kMinibatch / 1.5, 0.1);
}

TEST(GossipEvents, AVisitWaitsForThoseBeforeIt) {
  for (const job::Averaging averaging : {job::Averaging::kPull, job::Averaging::kPush}) {
    GossipOfEvents gossip = gossip_of({1, 1, 1}, 1.0);
    gossip.options = {.averaging = averaging, .graph = worker::Graph::kBipartite};
    gossip.message_seconds = 0.1;
    Time sent = Time{} - from_seconds(1.0);
    int visits = 0;
    gossip.performed = [&](const sim::Operation& one) {
      // Workers 0 and 2 visit worker 1, which sends to them, or to which they send.
      const bool sends = averaging == job::Averaging::kPull ? one.worker == 1 : one.worker != 1;
      if (one.kind == sim::Operation::Kind::kSend && sends) {
        EXPECT_GE(to_seconds(one.begin - sent), 0.2 - 1e-9);  // Two messages.
        sent = one.end;
        ++visits;
      }
    };
    (void)rate_of(gossip);
    EXPECT_GT(visits, 400);  // More than one of them makes alone.
  }
}

TEST(GossipEvents, VisitorsCollideAsInASwitchWithQueues) {
  GossipOfEvents gossip = gossip_of(std::vector<double>(24, 1.0), 1.0);
  gossip.apply_seconds = 0.0;
  gossip.options = {.averaging = job::Averaging::kPull, .graph = worker::Graph::kComplete};
  const double busy = rate_of(gossip) / (24 * kMinibatch);
  EXPECT_GT(busy, 0.56);  // 0.6 for 24 inputs; 2 - sqrt(2) in the end.
  EXPECT_LT(busy, 0.63);
}

TEST(GossipEvents, TheCentreIsVisitedByOneAfterAnother) {
  GossipOfEvents gossip = gossip_of({1, 1, 1}, 1.0);
  gossip.options = {.averaging = job::Averaging::kElastic, .average_every = 1};
  EXPECT_NEAR(rate_of(gossip), kMinibatch * (1 / 0.2 + 1 / 1.0), 1.0);
  gossip = gossip_of({1, 1}, 1.0);
  gossip.options = {.averaging = job::Averaging::kElastic, .average_every = 10};
  EXPECT_NEAR(rate_of(gossip), kMinibatch * (1 / 0.2 + 10 / 2.9), 1.0);
}

TEST(GossipEvents, TheHolderOfTheCentreDoesNotEndARunBeforeOthersCount) {
  GossipOfEvents gossip = gossip_of({1, 1}, 100.0);  // 500 gradients of 0.2 s meanwhile.
  gossip.options = {.averaging = job::Averaging::kElastic, .average_every = 1};
  const double rate = gossip_rate_by_events(gossip, 20).examples_per_second;
  EXPECT_NEAR(rate, kMinibatch * (1 / 0.2 + 1 / 100.1), 0.05);
}

TEST(GossipEvents, FollowTheGraph) {
  GossipOfEvents gossip = gossip_of(std::vector<double>(8, 1.0), 1.0);
  const double bipartite = rate_of(gossip);
  gossip.options.graph = worker::Graph::kExponential;  // 1, 3, 5 and 7 apart: the same.
  EXPECT_EQ(rate_of(gossip), bipartite);
  gossip.options.graph = worker::Graph::kRing;  // Fewer choose the same one.
  EXPECT_GT(rate_of(gossip), 1.05 * bipartite);
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
