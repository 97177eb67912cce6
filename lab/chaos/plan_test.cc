#include "chaos/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace outpace::chaos {
namespace {

constexpr Wishes kThreeMinutes{.length = std::chrono::minutes(3)};

TEST(ChaosPlan, TheSeedAloneBringsItBack) {
  EXPECT_EQ(draw_plan(7, kThreeMinutes), draw_plan(7, kThreeMinutes));
  EXPECT_NE(to_words(draw_plan(7, kThreeMinutes)), to_words(draw_plan(8, kThreeMinutes)));
}

TEST(ChaosPlan, HalfOfTheSeedsHaveAProxyAndTwentySeedsHaveEveryKindAndPolicy) {
  std::map<Kind, int> kinds;
  std::set<std::string> policies;
  std::map<Carrier, int> carriers;
  std::size_t faults = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Plan plan = draw_plan(seed, kThreeMinutes);
    policies.insert(plan.job.policy);
    ++carriers[plan.job.carrier];
    faults += plan.faults.size();
    for (const Fault& fault : plan.faults) {
      ++kinds[fault.kind];
    }
  }
  EXPECT_EQ(carriers[Carrier::kSharedMemory], 10);
  EXPECT_EQ(carriers.size(), 4U);
  EXPECT_EQ(policies.size(), 6U);
  EXPECT_GE(faults, 400U);
  EXPECT_EQ(kinds.size(), kKindWords.size());
  for (const auto& [kind, count] : kinds) {
    EXPECT_GE(count, 10) << word(kind);
  }
}

TEST(ChaosPlan, FaultsComeInOrderAndNoTargetHasTwoAtATime) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Plan plan = draw_plan(seed, kThreeMinutes);
    std::map<std::string, Duration> until;
    Duration last{};
    for (const Fault& fault : plan.faults) {
      EXPECT_GE(fault.at, last) << seed;
      EXPECT_LT(fault.at, plan.length) << seed;
      EXPECT_GE(fault.at, until[fault.target]) << seed;
      last = fault.at;
      until[fault.target] = fault.at + fault.lasts;
    }
  }
}

TEST(ChaosPlan, AFaultOfTheNetworkNeedsTheProxy) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Plan plan = draw_plan(seed, kThreeMinutes);
    const bool proxied = plan.job.carrier != Carrier::kSharedMemory;
    EXPECT_EQ(proxied, seed % 2 == 1);
    EXPECT_TRUE(proxied || std::ranges::none_of(plan.kinds, is_of_network)) << seed;
  }
}

TEST(ChaosPlan, WishesComeOverTheSeed) {
  const Plan plan = draw_plan(2,
                              {.length = std::chrono::minutes(1),
                               .policy = "ssp:s=2",
                               .carrier = Carrier::kTls,
                               .only = {Kind::kCorrupt, Kind::kClockJump},
                               .without = {Kind::kClockJump}});
  EXPECT_EQ(plan.job.policy, "ssp:s=2");
  EXPECT_EQ(plan.job.carrier, Carrier::kTls);
  EXPECT_EQ(plan.kinds, std::vector{Kind::kCorrupt});
  EXPECT_FALSE(plan.faults.empty());
}

TEST(ChaosPlan, ReadsItsOwnWords) {
  EXPECT_EQ(kind_of("half-open"), Kind::kHalfOpen);
  EXPECT_EQ(kind_of("halfopen"), std::nullopt);
  EXPECT_EQ(carrier_of("tls"), Carrier::kTls);
  EXPECT_EQ(to_words(Fault{.at = std::chrono::milliseconds(12'340),
                           .kind = Kind::kHalfOpen,
                           .target = "worker 2",
                           .lasts = std::chrono::milliseconds(3100),
                           .amount = 2.0}),
            "  12.3 s  half-open   worker 2 for 3.1 s (to the server)");
}

}  // namespace
}  // namespace outpace::chaos
