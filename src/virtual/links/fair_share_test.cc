#include "links/fair_share.h"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "links/plain_sharing_test.h"

namespace outpace::links {
namespace {

Link link(double bandwidth, Sharing sharing = Sharing::kShared) {
  return {.name = "", .bandwidth = bandwidth, .latency = 0, .sharing = sharing};
}

// Bertsekas & Gallager's figure 6.10 in small: one long flow, one on each link.
TEST(FairShare, GivesWhatAFullLinkLeavesToThoseWhoCanUseIt) {
  FairShare share(std::vector{link(1.0), link(3.0)});
  FairShare::Changes changes;
  share.add(0, 1.0, std::vector{kFirst, kSecond});
  share.add(1, 1.0, std::vector{kFirst});
  share.add(2, 1.0, std::vector{kSecond});
  share.settle(changes);
  EXPECT_EQ(share.rate(0), 0.5);
  EXPECT_EQ(share.rate(1), 0.5);
  EXPECT_EQ(share.rate(2), 2.5);
  EXPECT_EQ(share.bottleneck(0), kFirst);
  share.remove(1);
  share.settle(changes);
  EXPECT_EQ(share.rate(0), 1.0);
  EXPECT_EQ(share.rate(2), 2.0);
  share.remove(2);
  share.settle(changes);
  EXPECT_EQ(share.rate(0), 1.0);
  EXPECT_EQ(share.level(kSecond), kUnlimited);
}

TEST(FairShare, SharesByWeight) {
  FairShare share(std::vector{link(6.0)});
  FairShare::Changes changes;
  share.add(0, 1.0, std::vector{kFirst});
  share.add(1, 2.0, std::vector{kFirst});
  share.settle(changes);
  EXPECT_EQ(share.rate(0), 2.0);
  EXPECT_EQ(share.rate(1), 4.0);
}

TEST(FairShare, CountsALinkTwiceThatStandsTwiceOnARoute) {
  FairShare share(std::vector{link(6.0)});
  FairShare::Changes changes;
  share.add(0, 1.0, std::vector{kFirst, kFirst});
  share.add(1, 1.0, std::vector{kFirst});
  share.settle(changes);
  EXPECT_EQ(share.rate(0), 2.0);
  EXPECT_EQ(share.rate(1), 2.0);
}

// As measured with SimGrid 3.32: the lighter flow does not get what the pipe would allow it.
TEST(FairShare, GivesEachOnAFatpipeItsWeightsShareOfWhatTheHeaviestGets) {
  FairShare share(std::vector{link(6.0, Sharing::kFatpipe), link(1.0)});
  FairShare::Changes changes;
  share.add(0, 1.0, std::vector{kFirst});
  share.add(1, 2.0, std::vector{kFirst});
  share.settle(changes);
  EXPECT_EQ(share.rate(0), 3.0);
  EXPECT_EQ(share.rate(1), 6.0);
  share.remove(1);
  share.add(1, 2.0, std::vector{kFirst, kSecond});  // Limited elsewhere: no longer the measure.
  share.settle(changes);
  EXPECT_EQ(share.rate(0), 6.0);
  EXPECT_EQ(share.rate(1), 1.0);
}

TEST(FairShare, DoesNotLookAtLinksBelowTheChange) {
  FairShare share(std::vector{link(1.0), link(10.0)});
  FairShare::Changes changes;
  share.add(0, 1.0, std::vector{kFirst, kSecond});
  share.add(1, 1.0, std::vector{kSecond});
  share.settle(changes);
  ASSERT_EQ(share.rate(1), 9.0);
  share.add(2, 1.0, std::vector{kSecond});
  share.settle(changes);
  ASSERT_EQ(changes.links.size(), 1U);
  EXPECT_EQ(changes.links[0].link, kSecond);
  EXPECT_EQ(changes.links[0].level_before, 9.0);
  ASSERT_EQ(changes.flows.size(), 1U);
  EXPECT_EQ(changes.flows[0].flow, 2U);
  EXPECT_EQ(changes.flows[0].bottleneck_before, FairShare::kNoLink);
}

// A random walk of flows that come and go, beside the twin; and what settle() tells beside what it
// did.
class Walk {
 public:
  Walk(std::uint64_t seed, bool fatpipes)
      : rng_(seed, 1), case_(random_case(seed, fatpipes)), share_(case_.links) {}

  void step() {
    for (std::uint64_t calls = 1 + rng_.below(3); calls > 0; --calls) {
      const auto flow = static_cast<FairShare::Flow>(rng_.below(case_.transfers.size()));
      if (flows_.contains(flow)) {
        share_.remove(flow);
        flows_.erase(flow);
      } else {
        // Often alike, and over six decades if not.
        const double weight = rng_.below(2) == 0 ? 1.0 : std::pow(10.0, 6 * rng_.uniform());
        flows_[flow] = {case_.transfers[flow].route, weight};
        share_.add(flow, weight, flows_[flow].route);
      }
    }
    const std::vector<double> levels = all_levels();
    share_.settle(changes_);
    compare_rates();
    compare_changes(levels);
  }

 private:
  void compare_rates() {
    std::vector<PlainFlow> plain;
    for (const auto& [flow, its] : flows_) {
      plain.push_back(its);
    }
    const std::vector<double> rates = plain_rates(case_.links, plain);
    std::size_t place = 0;
    for (const auto& [flow, its] : flows_) {
      ASSERT_NEAR(share_.rate(flow), rates[place], 1e-9 * rates[place]) << "flow " << flow;
      ++place;
    }
  }

  void compare_changes(const std::vector<double>& levels) {
    std::set<LinkId> told;
    for (const auto& [link, level_before] : changes_.links) {
      ASSERT_EQ(level_before, levels[links::index(link)]);
      ASSERT_TRUE(told.insert(link).second);
    }
    for (std::size_t i = 0; i < levels.size(); ++i) {
      ASSERT_TRUE(told.contains(LinkId(i)) || share_.level(LinkId(i)) == levels[i]);
    }
    std::map<FairShare::Flow, LinkId> bottlenecks;
    for (const auto& [flow, its] : flows_) {
      bottlenecks[flow] = share_.bottleneck(flow);
    }
    for (const auto& [flow, before] : changes_.flows) {
      ASSERT_TRUE(told.contains(share_.bottleneck(flow)));
      ASSERT_TRUE(before == FairShare::kNoLink || told.contains(before));
      bottlenecks_[flow] = share_.bottleneck(flow);
    }
    for (const auto& [flow, bottleneck] : bottlenecks) {
      ASSERT_EQ(bottlenecks_[flow], bottleneck) << "flow " << flow;
    }
  }

  std::vector<double> all_levels() const {
    std::vector<double> levels;
    for (std::size_t i = 0; i < case_.links.size(); ++i) {
      levels.push_back(share_.level(LinkId(i)));
    }
    return levels;
  }

  Rng rng_;
  RandomCase case_;
  FairShare share_;
  FairShare::Changes changes_;
  std::map<FairShare::Flow, PlainFlow> flows_;
  std::map<FairShare::Flow, LinkId> bottlenecks_;  // As settle() told.
};

TEST(FairShare, AgreesWithFillingAllLinksAnew) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed, seed % 2 == 1);
    for (int step = 0; step < 30; ++step) {
      walk.step();
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::links
