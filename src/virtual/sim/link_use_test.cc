#include "sim/link_use.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::sim {
namespace {

using links::LinkId;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Links of 1 MB/s.
std::vector<links::Link> links(std::size_t count) {
  return std::vector<links::Link>(count, {.name = "l", .bandwidth = 1e6, .latency = 0.0});
}

// Flows that are measured.
class Measured {
 public:
  explicit Measured(std::size_t links_count) : flows_(links(links_count)), use_(links_count) {}

  links::FlowId start(const std::vector<LinkId>& route, double bytes) {
    const links::FlowId flow = flows_.start(route, bytes);
    use_.started(flow, route, bytes);
    return flow;
  }
  void cancel(links::FlowId flow) {
    use_.measure(flows_);
    use_.cancelled(flow);
    flows_.cancel(flow);
  }
  void advance(Time now) { use_.advance(flows_, now, completed_); }
  // To the end of all flows, as the driver goes: never past one.
  void complete() {
    while (const auto next = flows_.next()) {
      advance(*next);
    }
  }
  const LinkUse& end() {
    use_.measure(flows_);
    return use_;
  }

 private:
  links::Flows flows_;
  LinkUse use_;
  std::vector<links::FlowId> completed_;
};

double bytes(const LinkUse& use, LinkId link) {
  const std::vector<double> rates = use.rates(link);
  double sum = 0.0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const Time begin{use.window() * static_cast<Duration::rep>(i)};
    sum += rates[i] * to_seconds(std::min(use.window(), use.end() - begin));
  }
  return sum;
}

TEST(LinkUse, IsWhatALinkCarriesWhileItCarriesIt) {
  Measured flows(2);
  flows.start({LinkId{0}}, 500);  // 500 us.
  flows.complete();
  flows.advance(Time{microseconds(1000)});
  const LinkUse& use = flows.end();
  EXPECT_EQ(use.window(), microseconds(1));
  const std::vector<double> rates = use.rates(LinkId{0});
  ASSERT_EQ(rates.size(), 1000U);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_NEAR(rates[i], i < 500 ? 1e6 : 0.0, 1e-3) << i;
  }
  EXPECT_TRUE(use.rates(LinkId{1}).empty()) << "it has carried nothing";
}

TEST(LinkUse, HasLongerWindowsForALongerRun) {
  Measured flows(1);
  flows.advance(Time{milliseconds(500)});
  flows.start({LinkId{0}}, 1e5);  // 100 ms.
  flows.complete();
  flows.advance(Time{milliseconds(1000)});
  const LinkUse& use = flows.end();
  EXPECT_EQ(use.window(), microseconds(1024));
  const std::vector<double> rates = use.rates(LinkId{0});
  ASSERT_EQ(rates.size(), 977U);  // 1 s / 1,024 us = 976.6.
  EXPECT_NEAR(rates[487], 0.0, 1e-3);
  EXPECT_NEAR(rates[488], 1e6 * 0.71875, 1) << "from 499.712 to 500.736 ms";
  EXPECT_NEAR(rates[489], 1e6, 1e-3);
  EXPECT_NEAR(bytes(use, LinkId{0}), 1e5, 1e-3);
}

// Two share link 0 until one is cancelled; the other also passes link 1.
TEST(LinkUse, IsSharedAsFlowsShareLinks) {
  Measured flows(2);
  const links::FlowId cancelled = flows.start({LinkId{0}}, 1000);
  flows.start({LinkId{0}, LinkId{1}}, 1000);
  flows.advance(Time{microseconds(400)});
  flows.cancel(cancelled);
  flows.advance(Time{microseconds(1000)});
  const LinkUse& use = flows.end();
  EXPECT_NEAR(bytes(use, LinkId{0}), 1000, 1e-3) << "full all the time";
  EXPECT_NEAR(bytes(use, LinkId{1}), 200 + 600, 1e-3) << "what is under way counts as well";
  EXPECT_NEAR(use.rates(LinkId{1})[399], 5e5, 1e-3);
  EXPECT_NEAR(use.rates(LinkId{1})[400], 1e6, 1e-3);
}

TEST(LinkUse, HasFewerWindowsOfMoreLinksSoThatItStaysSmall) {
  Measured flows(2048);
  flows.start({LinkId{7}}, 1e6);
  flows.advance(Time{milliseconds(1000)});
  EXPECT_LE(flows.end().rates(LinkId{7}).size(), 256U);
  EXPECT_GE(flows.end().rates(LinkId{7}).size(), 128U);
}

// Random flows, some cancelled: all bytes that are through are counted on each link, and no link
// carries more than it can.
TEST(LinkUse, AddsUpToWhatFlowsCarried) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed, 0);
    constexpr std::uint32_t kLinks = 5;
    Measured flows(kLinks);
    std::vector<double> sent(kLinks);
    Time now{};
    for (int i = 0; i < 200; ++i) {
      const LinkId first{static_cast<std::uint32_t>(rng.below(kLinks))};
      const LinkId second{static_cast<std::uint32_t>(rng.below(kLinks))};
      const double size = 1.0 + static_cast<double>(rng.below(3000));
      flows.start({first, second}, size);
      sent[links::index(first)] += size;
      sent[links::index(second)] += size;
      now += microseconds(rng.below(2000));
      flows.advance(now);
    }
    flows.complete();
    const LinkUse& use = flows.end();
    for (std::uint32_t link = 0; link < kLinks; ++link) {
      EXPECT_NEAR(bytes(use, LinkId{link}), sent[link], 1e-6 * sent[link]) << "seed " << seed;
      for (const double rate : use.rates(LinkId{link})) {
        EXPECT_LE(rate, 1e6 * 1.001) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::sim
