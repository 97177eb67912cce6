#include "links/sharers.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::links {
namespace {

std::vector<Link> make_links(std::size_t count) {
  return {count, Link{.name = "", .bandwidth = 1.0, .latency = 0.0}};
}

TEST(Sharers, CountALinkOnceAndItsWeightAsOftenAsItStandsOnTheRoute) {
  std::vector<Link> links = make_links(2);
  links[1].sharing = Sharing::kFatpipe;
  Sharers sharers(links);
  sharers.add(0, 3.0, std::array{LinkId{0}, LinkId{1}, LinkId{0}, LinkId{1}});
  EXPECT_EQ(sharers.hops(0).size(), 2U);
  ASSERT_EQ(sharers.on(0).size(), 1U);
  EXPECT_EQ(sharers.on(0)[0].weight, 6.0);
  ASSERT_EQ(sharers.on(1).size(), 1U);
  EXPECT_EQ(sharers.on(1)[0].weight, 3.0);
  EXPECT_EQ(sharers.weight(0), 3.0);
}

// What is said of the hops of each flow, against its route.
void expect_hops(const Sharers& sharers, Sharers::Flow flow, const std::set<std::uint32_t>& route) {
  std::set<std::uint32_t> links;
  std::size_t place = 0;
  for (const Sharers::Hop hop : sharers.hops(flow)) {
    links.insert(hop.link);
    const Sharers::Share& share = sharers.on(hop.link)[hop.place];
    ASSERT_EQ(share.flow, flow);
    ASSERT_EQ(share.hop, place);
    const std::size_t live = sharers.live_hops(flow).size();
    ASSERT_EQ(sharers.live(hop.link), place < live);
    if (live == 2 && place < 2) {
      const Sharers::Hop other = sharers.hops(flow)[1 - place];
      ASSERT_EQ(share.other.link, other.link);
      ASSERT_EQ(share.other.place, other.place);
    } else {
      ASSERT_EQ(share.other.link, Sharers::kNoLink);
    }
    ++place;
  }
  ASSERT_EQ(links, route);
  ASSERT_EQ(place, route.size());
  ASSERT_EQ(sharers.live_hops(flow).size() + sharers.other_hops(flow).size(), place);
}

TEST(Sharers, KeepEachHopsPlaceWhateverComesAndGoes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 0);
    Sharers sharers(make_links(6));
    std::vector<std::set<std::uint32_t>> routes(8);  // By flow; empty if it is not there.
    for (int step = 0; step < 50; ++step) {
      const auto flow = static_cast<Sharers::Flow>(rng.below(routes.size()));
      if (rng.below(3) == 0) {
        sharers.set_live(static_cast<std::uint32_t>(rng.below(6)), rng.below(2) == 0);
      } else if (!routes[flow].empty()) {
        sharers.remove(flow);
        routes[flow].clear();
      } else {
        std::vector<LinkId> route;
        for (std::uint64_t left = 1 + rng.below(5); left > 0; --left) {
          route.push_back(LinkId{static_cast<std::uint32_t>(rng.below(6))});
          routes[flow].insert(static_cast<std::uint32_t>(route.back()));
        }
        sharers.add(flow, 1.0, route);
      }
      for (Sharers::Flow each = 0; each < routes.size(); ++each) {
        if (!routes[each].empty()) {
          expect_hops(sharers, each, routes[each]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace outpace::links
