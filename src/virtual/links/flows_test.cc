#include "links/flows.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "links/plain_sharing_test.h"

namespace outpace::links {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Time at(Duration since_start) {
  return Time{since_start};
}

Link link(double bandwidth, double latency) {
  return {.name = "", .bandwidth = bandwidth, .latency = latency};
}

// All completions from now on, in the order in which advance() tells them.
std::vector<std::pair<FlowId, Time>> run(Flows& flows) {
  std::vector<std::pair<FlowId, Time>> all;
  std::vector<FlowId> completed;
  while (const auto next = flows.next()) {
    completed.clear();
    flows.advance(*next, completed);
    for (const FlowId flow : completed) {
      all.emplace_back(flow, flows.now());
    }
  }
  return all;
}

using Completions = std::vector<std::pair<FlowId, Time>>;

TEST(Flows, WaitForTheLatencyAndThenTakeTheWholeLink) {
  Flows flows(std::vector{link(1e6, 0.01)});
  const FlowId flow = flows.start(std::array{kFirst}, 1e6);
  EXPECT_EQ(flows.next(), at(milliseconds(10)));
  EXPECT_EQ(flows.rate(flow), 0.0);
  std::vector<FlowId> completed;
  flows.advance(at(milliseconds(510)), completed);
  EXPECT_TRUE(completed.empty());
  EXPECT_EQ(flows.rate(flow), 1e6);
  EXPECT_DOUBLE_EQ(flows.remaining(flow), 5e5);
  EXPECT_EQ(run(flows), (Completions{{flow, at(milliseconds(1010))}}));
  EXPECT_EQ(flows.next(), std::nullopt);
}

// The first is alone for 10 ms; then it has 2/3 and the other, of twice the latency, 1/3. 990 kB at
// 2/3 MB/s are 1.485 s; meanwhile the other got 495 kB, and the rest of it has the link alone.
TEST(Flows, ShareInProportionToOneOverTheirLatency) {
  Flows flows(std::vector{link(1e6, 0.01), link(1e9, 0.01)});
  const FlowId near = flows.start(std::array{kFirst}, 1e6);
  const FlowId far = flows.start(std::array{kFirst, kSecond}, 1e6);
  EXPECT_EQ(run(flows),
            (Completions{{near, at(milliseconds(1505))}, {far, at(milliseconds(2010))}}));
}

// Half a second alone, then 1/3 beside one of weight 1 / 0.5 s.
TEST(Flows, WithoutLatencyHaveTheWeightOfASecond) {
  Flows flows(std::vector{link(1e6, 0.0), link(1e9, 0.5)});
  const FlowId at_once = flows.start(std::array{kFirst}, 1e7);
  const FlowId far = flows.start(std::array{kFirst, kSecond}, 1e7);
  EXPECT_EQ(run(flows), (Completions{{far, at(milliseconds(15500))}, {at_once, at(seconds(20))}}));
}

TEST(Flows, OfNoBytesTakeTheLatencyAndOfNoLinksTakeNothing) {
  Flows flows(std::vector{link(1e6, 0.01), link(1e6, 0.0)});
  const FlowId latency = flows.start(std::array{kFirst}, 0.0);
  const FlowId nothing = flows.start(std::array{kSecond}, 0.0);
  const FlowId nowhere = flows.start({}, 1e9);
  EXPECT_EQ(run(flows),
            (Completions{{nothing, at({})}, {nowhere, at({})}, {latency, at(milliseconds(10))}}));
}

TEST(Flows, ThatEndTogetherAreToldInTheOrderOfTheirStarts) {
  Flows flows(std::vector{link(3e6, 0.0), link(1e6, 0.0)});
  const FlowId first = flows.start(std::array{kSecond}, 1e6);
  std::vector<FlowId> three;
  for (int i = 0; i < 3; ++i) {
    three.push_back(flows.start(std::array{kFirst}, 1e6));
  }
  const Time end = at(seconds(1));
  EXPECT_EQ(run(flows),
            (Completions{{first, end}, {three[0], end}, {three[1], end}, {three[2], end}}));
}

TEST(Flows, LeaveTheirBandwidthToTheOthersWhenCancelled) {
  Flows flows(std::vector{link(1e6, 0.0), link(1e6, 1.0)});
  std::vector<FlowId> completed;
  const FlowId kept = flows.start(std::array{kFirst}, 1e6);
  const FlowId cancelled = flows.start(std::array{kFirst}, 1e6);
  const FlowId never_shared = flows.start(std::array{kSecond}, 1e6);
  flows.advance(at(seconds(1)) - nanoseconds(1), completed);
  flows.cancel(cancelled);
  flows.cancel(never_shared);
  flows.advance(at(seconds(1)), completed);
  EXPECT_TRUE(completed.empty());
  EXPECT_EQ(run(flows), (Completions{{kept, at(milliseconds(1500))}}));
}

TEST(Flows, StartAtTheTimeOfTheLastAdvance) {
  Flows flows(std::vector{link(1e6, 0.01)});
  std::vector<FlowId> completed;
  const FlowId early = flows.start(std::array{kFirst}, 1e6);
  flows.advance(at(milliseconds(500)), completed);
  const FlowId late = flows.start(std::array{kFirst}, 1e6);
  EXPECT_EQ(run(flows),
            (Completions{{early, at(milliseconds(1510))}, {late, at(milliseconds(2010))}}));
}

TEST(Flows, KeepTheirPaceOverYearsAndATrillionBytes) {
  Flows flows(std::vector{link(1e3, 0.0)});
  const FlowId huge = flows.start(std::array{kFirst}, 1e12);
  std::vector<FlowId> completed;
  flows.advance(at(seconds(500'000'000)), completed);
  const FlowId small = flows.start(std::array{kFirst}, 1e3);
  const auto all = run(flows);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].first, small);
  EXPECT_NEAR(to_seconds(all[0].second - at(seconds(500'000'000))), 2.0, 1e-6);
  EXPECT_EQ(all[1].first, huge);
  EXPECT_NEAR(to_seconds(all[1].second), 1e9 + 1, 1e-6);
}

// Starts and cancels the transfers at their times: when each is complete, in seconds; infinite if
// it was cancelled before.
std::vector<double> completions(const std::vector<Link>& links,
                                const std::vector<Transfer>& transfers) {
  std::vector<double> done(transfers.size(), std::numeric_limits<double>::infinity());
  Flows flows(links);
  std::map<FlowId, std::size_t> places;  // The transfers in flight.
  const auto advance = [&](Time time) {
    std::vector<FlowId> completed;
    flows.advance(time, completed);
    for (const FlowId flow : completed) {
      done[places.extract(flow).mapped()] = to_seconds(flows.now());
    }
  };
  std::multimap<Time, std::function<void()>> script;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    script.emplace(transfers[i].start, [&, i] {
      places.emplace(flows.start(transfers[i].route, transfers[i].bytes), i);
    });
    script.emplace(transfers[i].cancelled, [&, i] {
      std::erase_if(places, [&](const auto& place) {
        if (place.second == i) {
          flows.cancel(place.first);
        }
        return place.second == i;
      });
    });
  }
  for (const auto& [time, act] : script) {
    for (auto next = flows.next(); next && *next <= time; next = flows.next()) {
      advance(*next);
    }
    if (time < Time::max()) {
      advance(time);
      act();
    }
  }
  return done;
}

void expect_agreement(const RandomCase& random) {
  const std::vector<double> expected = plain_completions(random.links, random.transfers);
  const std::vector<double> done = completions(random.links, random.transfers);
  for (std::size_t i = 0; i < done.size(); ++i) {
    ASSERT_TRUE(done[i] == expected[i] ||
                std::abs(done[i] - expected[i]) <= 1e-9 + 1e-9 * expected[i])
        << "transfer " << i << ": " << done[i] << " is not " << expected[i];
  }
}

TEST(Flows, AgreeWithSharingAllAnewAtEveryEvent) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(expect_agreement(random_case(seed, seed % 2 == 1)));
  }
}

TEST(Flows, AgreeWithSharingAllAnewWhenSomeAreCancelled) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random = random_case(seed, seed % 2 == 1);
    Rng rng(seed, 1);
    for (Transfer& transfer : random.transfers) {
      if (rng.below(2) == 0) {
        transfer.cancelled = transfer.start + from_seconds(0.3 * rng.uniform());
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_agreement(random));
  }
}

}  // namespace
}  // namespace outpace::links
