#include "throughput/coarse.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

constexpr ServedCluster kNothingElse{
    .fixed_seconds = 0, .link_seconds = 0, .own_link_seconds = 0, .apply_seconds = 0};

constexpr ServedCluster kLinkAlone{
    .fixed_seconds = 0, .link_seconds = 0.02, .own_link_seconds = 0.02, .apply_seconds = 0};

Computing constant(std::vector<double> seconds) {
  return draw_computing(
      1,
      1,
      static_cast<std::uint32_t>(seconds.size()),
      [&](std::size_t /*p*/, std::size_t /*d*/, std::uint32_t w) { return seconds[w]; });
}

double served(Barrier barrier,
              const ServedCluster& cluster,
              const Computing& computing,
              Heuristics heuristics = Heuristics::kWith) {
  return served_rate(barrier, cluster, computing, heuristics);
}

TEST(Coarse, ARoundTakesItsOrderStatistic) {
  const Computing computing = constant({0.1, 0.4, 0.2, 0.3});
  EXPECT_DOUBLE_EQ(served({BarrierKind::kCutoff, 4}, kNothingElse, computing), 4 / 0.4);
  EXPECT_DOUBLE_EQ(served({BarrierKind::kCutoff, 2}, kNothingElse, computing), 2 / 0.2);
  EXPECT_DOUBLE_EQ(
      served({BarrierKind::kBestCutoff}, kNothingElse, constant({0.1, 0.4, 0.11, 0.4})), 2 / 0.11);
}

TEST(Coarse, WhoRestartsDrawsAnotherRuntime) {
  // One worker: two mini-batches take 0.1 and 0.3, in either order, and not twice the shorter one.
  const Computing computing = draw_computing(
      1, 2, 1, [](std::size_t, std::size_t d, std::uint32_t) { return d == 0 ? 0.1 : 0.3; });
  EXPECT_NEAR(served({BarrierKind::kRestarting, 2}, kNothingElse, computing), 2 / 0.4, 1e-9);
}

TEST(Coarse, WhoRestartsSendsAgainInTheRound) {
  // At 0.1, 0.2, 0.3 the first one, at 0.3 the second.
  const Computing computing = constant({0.1, 0.3});
  EXPECT_NEAR(served({BarrierKind::kRestarting, 3}, kNothingElse, computing), 3 / 0.3, 1e-9);
}

Barrier bound(std::uint32_t workers) {
  return barrier_of(Spec::parse("ssp:s=3"), workers);
}

TEST(Coarse, NobodyWaitsOrAllWaitForTheSlowest) {
  const Computing computing = constant({0.1, 0.2});
  EXPECT_NEAR(served({BarrierKind::kNone}, kNothingElse, computing), 15.0, 1e-6);
  EXPECT_NEAR(served(bound(2), kNothingElse, computing), 10.0, 0.1);
}

TEST(Coarse, WhoIsHeldUpIsOnTheLinkTogetherWithTheOthers) {
  const ServedCluster cluster{
      .fixed_seconds = 0, .link_seconds = 0.1, .own_link_seconds = 0.1, .apply_seconds = 0};
  // Three down and three up; the slow one computes while the first of the others send.
  const Computing one_slow = constant({0.001, 0.001, 0.05});
  EXPECT_NEAR(served(bound(3), cluster, one_slow),
              served({BarrierKind::kCutoff, 3}, cluster, one_slow),
              1e-9);
  const Computing alike = constant({0.05, 0.05, 0.05});
  EXPECT_NEAR(served(bound(3), cluster, alike), served({BarrierKind::kNone}, cluster, alike), 1e-3);
}

TEST(Coarse, NobodyIsHeldUpByChanceOrByNextToNothing) {
  const ServedCluster cluster{
      .fixed_seconds = 0, .link_seconds = 0.1, .own_link_seconds = 0.1, .apply_seconds = 0};
  // A third longer to compute, of an iteration of 0.2 s; and by the chance of four draws.
  const Computing short_computing = constant({0.003, 0.003, 0.004});
  EXPECT_GT(served(bound(3), cluster, short_computing),
            1.3 * served({BarrierKind::kCutoff, 3}, cluster, short_computing));
  const Computing noisy = draw_computing(1, 4, 3, [](std::size_t, std::size_t d, std::uint32_t w) {
    return w == 2 ? 0.05 + 0.02 * static_cast<double>(d) : 0.05;
  });
  EXPECT_GT(served(bound(3), cluster, noisy),
            1.2 * served({BarrierKind::kCutoff, 3}, cluster, noisy));
}

TEST(Coarse, AnUpdateOfDistinctWorkersWaitsForThem) {
  const Computing one_slow = constant({0.1, 0.1, 0.1, 1.0});
  const auto of = [](const char* policy) { return barrier_of(Spec::parse(policy), 4); };
  EXPECT_NEAR(served(of("kasync:k=4"), kNothingElse, one_slow), 4 / 1.0, 0.01);
  EXPECT_NEAR(served(of("kbatchasync:k=4"), kNothingElse, one_slow), 31.0, 1e-6);
  EXPECT_NEAR(served(of("adasync:k=4,rule=ksync"), kNothingElse, one_slow), 4 / 1.0, 1e-9);
  EXPECT_NEAR(served(of("kasync:k=4"), kLinkAlone, constant({0.1, 0.1, 0.1, 0.1})),
              served({BarrierKind::kCutoff, 4}, kLinkAlone, constant({0.1, 0.1, 0.1, 0.1})),
              6.0);
}

TEST(Coarse, ARoundPassesTheServersLinkTwice) {
  const ServedCluster cluster{.fixed_seconds = 0.01,
                              .link_seconds = 0.02,
                              .own_link_seconds = 0.02,
                              .apply_seconds = 0.005};
  const Computing equal = constant({0.1, 0.1, 0.1});
  // 0.01 + 3 x 0.02 down + 0.1 + 3 x 0.02 up + 3 x 0.005.
  EXPECT_DOUBLE_EQ(served({BarrierKind::kCutoff, 3}, cluster, equal), 3 / 0.245);
  // The first two have sent before the last is done.
  const Computing spread = constant({0.1, 0.2, 0.3});
  EXPECT_DOUBLE_EQ(served({BarrierKind::kCutoff, 3}, cluster, spread), 3 / (0.07 + 0.325));
  EXPECT_DOUBLE_EQ(served({BarrierKind::kCutoff, 3}, cluster, spread, Heuristics::kWithout),
                   3 / (0.07 + 0.3 + 0.075));
}

TEST(Coarse, WeightsThatGoOutInTurnLetTheFirstWorkersBeginEarly) {
  ServedCluster cluster = kLinkAlone;
  cluster.in_turn = true;
  // Down by 0.02, 0.04, 0.06; computed by 0.12, 0.14, 0.16, and each is through before the next.
  const Computing equal = constant({0.1, 0.1, 0.1});
  EXPECT_DOUBLE_EQ(served({BarrierKind::kCutoff, 3}, cluster, equal), 3 / 0.18);
  EXPECT_DOUBLE_EQ(served({BarrierKind::kCutoff, 3}, cluster, equal, Heuristics::kWithout),
                   3 / 0.22);
}

TEST(Coarse, FreeWorkersMeetTheBoundsOfAClosedNetwork) {
  const ServedCluster cluster{
      .fixed_seconds = 0, .link_seconds = 0.01, .own_link_seconds = 0.01, .apply_seconds = 0};
  for (const std::uint32_t workers : {1U, 2U, 8U, 64U}) {
    const Computing computing = constant(std::vector<double>(workers, 0.1));
    const double with = served({BarrierKind::kNone}, cluster, computing);
    const double bound = served({BarrierKind::kNone}, cluster, computing, Heuristics::kWithout);
    EXPECT_DOUBLE_EQ(bound, std::min(workers / 0.12, 1 / 0.01));
    EXPECT_LE(with, bound * (1 + 1e-9));
    // Never below what all others waiting before each station would leave.
    EXPECT_GE(with, workers / (0.1 + workers * 0.02) * (1 - 1e-9));
  }
}

TEST(Coarse, MeanValueAnalysisIsExactForEquals) {
  constexpr double kDelay = 0.1;
  const double kService = kLinkAlone.link_seconds;
  constexpr int kWorkers = 7;
  // Both links of a closed cycle with delay: product form, normalised by convolution.
  // G(n) = sum over a + b + c = n of s^a s^b Z^c / c!.
  const auto normalisation = [&](int n) {
    double sum = 0.0;
    for (int links = 0; links <= n; ++links) {
      const int delayed = n - links;
      sum += (links + 1) * std::pow(kService, links) * std::pow(kDelay, delayed) /
             std::tgamma(delayed + 1);
    }
    return sum;
  };
  const std::vector<double> rates =
      closed_network_rates(std::vector<double>(kWorkers, kDelay), kLinkAlone);
  EXPECT_NEAR(rates[0] * kWorkers, normalisation(kWorkers - 1) / normalisation(kWorkers), 1e-9);
}

TEST(Coarse, UnequalsNearlyEqualAreNearlyEquals) {
  const std::vector<double> equal(8, 0.1);
  std::vector<double> nearly = equal;
  nearly.back() = 0.1005;
  const double exact = 8 * closed_network_rates(equal, kLinkAlone)[0];
  double sum = 0.0;
  for (const double rate : closed_network_rates(nearly, kLinkAlone)) {
    sum += rate;
  }
  EXPECT_NEAR(sum, exact, 0.05 * exact);  // Schweitzer's approximation: some per cent.
}

TEST(Coarse, ARingHidesWhatFitsIntoTheBackwardPass) {
  const RingCluster cluster{.fixed_seconds = 0,
                            .latency_seconds = 0.001,
                            .payload_seconds = 0.04,
                            .buckets = {{.ready = 0.5, .bytes = 1.0}}};
  const Computing computing = constant({0.1, 0.08, 0.1, 0.1});
  // 2 x 3 x 0.001 + 2 x 3/4 x 0.04 = 0.066, of which 0.05 are hidden.
  EXPECT_NEAR(ring_rate(cluster, computing, Heuristics::kWithout), 4 / 0.166, 1e-9);
  EXPECT_NEAR(ring_rate(cluster, computing, Heuristics::kWith), 4 / 0.116, 1e-9);
}

double gossips(const RingCluster& cluster,
               const Computing& computing,
               const Gossiping& gossip,
               Heuristics heuristics = Heuristics::kWith) {
  return gossip_rate(cluster, computing, gossip, heuristics);
}

TEST(Coarse, GossipGoesAtEachWorkersOwnPace) {
  const RingCluster cluster{.fixed_seconds = 0.1, .latency_seconds = 0, .payload_seconds = 2.0};
  EXPECT_NEAR(
      gossips(cluster, constant({0.1, 0.4}), {.options = {.averaging = job::Averaging::kFree}}),
      5.0 + 2.0,
      1e-9);
}

TEST(Coarse, ACoupledGossipTakesAMeetingForEachGradient) {
  RingCluster cluster{.fixed_seconds = 0.1,
                      .latency_seconds = 5.0,
                      .meeting_message_seconds = 0.01,
                      .payload_seconds = 0.18};
  EXPECT_NEAR(meeting_seconds(cluster, job::Averaging::kCoupled), 0.2, 1e-12);
  const Computing two = constant({0.9, 0.9});
  EXPECT_NEAR(gossips(cluster, two, {}), 2.0, 1e-9);  // Hidden.
  cluster.payload_seconds = 1.98;  // The two gradients have one meeting after the other.
  EXPECT_NEAR(gossips(cluster, two, {}), 1 / 2.0, 1e-9);
  const Computing four = constant({0.9, 0.9, 0.9, 0.9});
  EXPECT_NEAR(gossips(cluster, four, {.neighbours = 2}, Heuristics::kWithout), 2 / 2.0, 1e-9);
  // (1.5 - sqrt(1.25)) / 0.5 = 0.764.
  EXPECT_NEAR(gossips(cluster, four, {.neighbours = 2}), 0.763932 * 2 / 2.0, 1e-6);
  // Every fourth gradient meets: three of 1 s and one of 2.1 s each.
  EXPECT_NEAR(gossips(cluster, two, {.options = {.average_every = 4}}), 2 * 4 / 5.1, 1e-9);
}

TEST(Coarse, MoreNeighboursCollideMoreOften) {
  EXPECT_EQ(busy_share(1), 1.0);
  EXPECT_NEAR(busy_share(2), 0.763932, 1e-6);
  EXPECT_NEAR(busy_share(1e6), 2 - std::sqrt(2), 1e-6);
}

TEST(Coarse, APullOccupiesTheLinkOfTheOneThatIsPulled) {
  const RingCluster cluster{.fixed_seconds = 0.1,
                            .latency_seconds = 5.0,
                            .meeting_message_seconds = 0.01,
                            .payload_seconds = 1.98};
  for (const job::Averaging averaging : {job::Averaging::kPull, job::Averaging::kPush}) {
    const job::GossipOptions options{.averaging = averaging};
    const Computing two = constant({0.9, 0.9});
    EXPECT_NEAR(gossips(cluster, two, {options, 1}, Heuristics::kWithout), 2 / 2.1, 1e-9);
    EXPECT_NEAR(gossips(cluster, two, {options, 1}), 1 / 2.0, 1e-9);  // They take turns.
    // Four workers of the complete graph: others = 2/3, and a visit takes 0.02 + 1.98 / 0.697.
    EXPECT_NEAR(gossips(cluster, constant({0.9, 0.9, 0.9, 0.9}), {options, 3}), 4 / 2.859, 1e-3);
  }
}

TEST(Coarse, ACentreServesOneAfterAnother) {
  const RingCluster cluster{.fixed_seconds = 0.1,
                            .latency_seconds = 5.0,
                            .meeting_message_seconds = 0.01,
                            .payload_seconds = 0.5};
  const Computing three = constant({0.9, 0.9, 0.9});
  job::GossipOptions options{.averaging = job::Averaging::kElastic, .average_every = 10};
  // The holder of the centre waits for nobody: 1 / 1.0. The others: nine of 1 s, one of 1.12 s.
  EXPECT_NEAR(gossips(cluster, three, {options, 1}), 1 + 2 * 10 / 10.12, 1e-9);
  options.average_every = 1;  // The centre's link: 1 s a meeting.
  EXPECT_NEAR(gossips(cluster, three, {options, 1}), 1 + 1 / 1.0, 1e-9);
}

TEST(Coarse, PeriodsCountEqually) {
  const Computing computing =
      draw_computing(2, 1, 2, [](std::size_t period, std::size_t /*d*/, std::uint32_t /*w*/) {
        return period == 0 ? 0.1 : 0.4;
      });
  EXPECT_NEAR(served({BarrierKind::kCutoff, 2}, kNothingElse, computing), (20 + 5) / 2.0, 1e-9);
}

}  // namespace
}  // namespace outpace::throughput
