#include "links/shapes.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "links/route_test.h"

namespace outpace::links {
namespace {

Topology make(const std::string& spec, std::uint64_t hosts) {
  return make_shape(Spec::parse(spec), {.hosts = hosts, .bandwidth = 1e9});
}

// The names of the links between two hosts: "host0.up host2.down".
std::string shape_refusal(const std::string& spec) {
  return refusal_of([&] { (void)make(spec, 17); });
}

TEST(Shapes, StarHasALinkUpAndOneDownForEachHost) {
  const Topology star = make("star:latency=50us", 3);
  EXPECT_EQ(star.hosts, (std::vector<std::string>{"host0", "host1", "host2"}));
  ASSERT_EQ(star.links.size(), 6U);
  EXPECT_EQ(star.links[5], (Link{.name = "host2.down", .bandwidth = 1e9, .latency = 50e-6}));
  EXPECT_EQ(route(star, 0, 2), "host0.up host2.down");
  EXPECT_EQ(route(star, 2, 0), "host2.up host0.down");
  EXPECT_EQ(route(star, 1, 1), "");
}

TEST(Shapes, TreeLeavesARackByItsUplink) {
  const Topology tree = make("tree:racks=2,latency=10us", 5);
  EXPECT_EQ(tree.hosts.size(), 6U);
  EXPECT_EQ(route(tree, 3, 5), "host3.up host5.down");
  EXPECT_EQ(route(tree, 0, 5), "host0.up rack0.up rack1.down host5.down");
  EXPECT_EQ(tree.links.back(), (Link{.name = "rack1.down", .bandwidth = 3e9, .latency = 1e-5}));
  const Topology narrow =
      make("tree:racks=2,oversubscription=6,latency=10us,uplink_latency=100us", 6);
  EXPECT_EQ(narrow.links.back(), (Link{.name = "rack1.down", .bandwidth = 5e8, .latency = 1e-4}));
}

// k = 4: 4 pods of 2 edge and 2 aggregation switches, 4 core switches, 16 hosts; 3 * 16 cables.
TEST(Shapes, FatTreeGoesUpByWhatTheDestinationsNumberSays) {
  const Topology tree = make("fat-tree:latency=1us", 10);
  EXPECT_EQ(tree.hosts.size(), 16U);
  EXPECT_EQ(tree.links.size(), 96U);
  EXPECT_EQ(route(tree, 0, 1), "host0.up host1.down");
  EXPECT_EQ(route(tree, 0, 2), "host0.up edge0-aggregation0.up edge1-aggregation0.down host2.down");
  EXPECT_EQ(route(tree, 0, 3), "host0.up edge0-aggregation1.up edge1-aggregation1.down host3.down");
  // Host 15 is in pod 3, below its second edge switch, which is the eighth of all.
  EXPECT_EQ(route(tree, 0, 15),
            "host0.up edge0-aggregation1.up aggregation1-core1.up aggregation7-core1.down "
            "edge7-aggregation1.down host15.down");
}

// All send to the half of the cluster that they are not in, each to another: nobody shares a link.
TEST(Shapes, FatTreeCarriesAPermutationBetweenPodsWithoutACollision) {
  const Topology tree = make("fat-tree:k=8", 1);
  const auto hosts = static_cast<std::uint32_t>(tree.hosts.size());
  ASSERT_EQ(hosts, 128U);
  std::set<LinkId> used;
  std::vector<LinkId> links;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    tree.route(HostId{host}, HostId{(host + hosts / 2) % hosts}, links);
    EXPECT_EQ(links.size(), 6U);
    for (const LinkId link : links) {
      EXPECT_TRUE(used.insert(link).second) << tree.links[index(link)].name;
    }
  }
}

TEST(Shapes, HaveAsManyHostsAsAClusterMayHave) {
  EXPECT_EQ(route(make("star", 1'000'000), 999'999, 0), "host999999.up host0.down");
  EXPECT_EQ(make("tree:racks=1000", 1'000'000).hosts.size(), 1'000'000U);
  EXPECT_EQ(make("fat-tree", 60'000).hosts.size(), 65'536U);
}

TEST(Shapes, RefuseWhatTheyDoNotUnderstand) {
  EXPECT_EQ(shape_refusal("stern"), "unknown shape 'stern'; did you mean 'star'?");
  EXPECT_EQ(shape_refusal("star:latency=1"),
            "shape 'star:latency=1': latency is '1'; it takes a time with its unit, such as 100ms "
            "or 1.5s, from 0s to 1000s");
  EXPECT_EQ(shape_refusal("star:racks=3"),
            "shape 'star:racks=3': unknown option 'racks'; known: latency");
  EXPECT_EQ(shape_refusal("tree"),
            "shape 'tree': racks is missing; it takes a whole number from 1 to 17");
  EXPECT_EQ(shape_refusal("tree:racks=2,oversubscription=0"),
            "shape 'tree:racks=2,oversubscription=0': oversubscription is '0'; it takes a number "
            "from 0.001 to 1000");
  EXPECT_EQ(shape_refusal("fat-tree:k=7"), "shape 'fat-tree': k is '7'; it takes an even number");
  EXPECT_EQ(shape_refusal("fat-tree:k=4"),  // 16 hosts.
            "shape 'fat-tree:k=4': k is '4'; it takes a whole number from 6 to 160");
}

}  // namespace
}  // namespace outpace::links
