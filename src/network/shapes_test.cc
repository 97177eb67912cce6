#include "network/shapes.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::network {
namespace {

Topology make(const std::string& spec) {
  return make_topology(Spec::parse(spec));
}

// The names of the links between two hosts: "host0.up host2.down".
std::string route(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  topology.route(HostId{from}, HostId{to}, links);
  std::string names;
  for (const LinkId link : links) {
    names += (names.empty() ? "" : " ") + topology.links.at(index(link)).name;
  }
  return names;
}

std::string complaint(const std::string& spec) {
  try {
    (void)make(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "none";
}

TEST(Shapes, StarHasALinkUpAndOneDownForEachHost) {
  const Topology star = make("star:hosts=3,bandwidth=1.25e9,latency=50e-6");
  EXPECT_EQ(star.hosts, (std::vector<std::string>{"host0", "host1", "host2"}));
  ASSERT_EQ(star.links.size(), 6U);
  EXPECT_EQ(star.links[5], (Link{.name = "host2.down", .bandwidth = 1.25e9, .latency = 50e-6}));
  EXPECT_EQ(route(star, 0, 2), "host0.up host2.down");
  EXPECT_EQ(route(star, 2, 0), "host2.up host0.down");
  EXPECT_EQ(route(star, 1, 1), "");
}

TEST(Shapes, TreeLeavesARackByItsUplink) {
  const Topology tree = make("tree:racks=2,hosts=3,bandwidth=1e9,latency=1e-5");
  EXPECT_EQ(tree.hosts.size(), 6U);
  EXPECT_EQ(route(tree, 3, 5), "host3.up host5.down");
  EXPECT_EQ(route(tree, 0, 5), "host0.up rack0.up rack1.down host5.down");
  EXPECT_EQ(tree.links.back(), (Link{.name = "rack1.down", .bandwidth = 3e9, .latency = 1e-5}));
  const Topology narrow =
      make("tree:racks=2,hosts=3,bandwidth=1e9,latency=1e-5,uplink=5e8,uplink_latency=1e-4");
  EXPECT_EQ(narrow.links.back(), (Link{.name = "rack1.down", .bandwidth = 5e8, .latency = 1e-4}));
}

// k = 4: 4 pods of 2 edge and 2 aggregation switches, 4 core switches, 16 hosts; 3 * 16 cables.
TEST(Shapes, FatTreeGoesUpByWhatTheDestinationsNumberSays) {
  const Topology tree = make("fattree:k=4,bandwidth=1e9,latency=1e-6");
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
  const Topology tree = make("fattree:k=8,bandwidth=1e9,latency=1e-6");
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
  const Topology star = make("star:hosts=1000000,bandwidth=1e9,latency=0");
  EXPECT_EQ(route(star, 999'999, 0), "host999999.up host0.down");
  EXPECT_EQ(make("fattree:k=64,bandwidth=1e9,latency=0").hosts.size(), 65'536U);
}

TEST(Shapes, RefuseWhatTheyDoNotUnderstand) {
  EXPECT_EQ(complaint("stern:hosts=3"), "unknown topology 'stern'; did you mean 'star'?");
  EXPECT_EQ(complaint("star:bandwidth=1e9,latency=0"),
            "topology 'star:bandwidth=1e9,latency=0': hosts is missing; it takes a whole number "
            "from 1 to 1000000");
  EXPECT_EQ(complaint("star:hosts=3,bandwidth=-1,latency=0"),
            "topology 'star:hosts=3,bandwidth=-1,latency=0': bandwidth is '-1'; it takes a number "
            "from 1 to 1e+18");
  EXPECT_EQ(complaint("tree:racks=1000,hosts=1001,bandwidth=1e9,latency=0"),
            "topology 'tree:racks=1000,hosts=1001,bandwidth=1e9,latency=0': hosts is '1001'; it "
            "takes a whole number from 1 to 1000");
  EXPECT_EQ(complaint("star:hosts=3,bandwidth=1e9,latency=0,uplink=1"),
            "topology 'star:hosts=3,bandwidth=1e9,latency=0,uplink=1': unknown option 'uplink'; "
            "known: hosts, bandwidth, latency");
  EXPECT_EQ(complaint("fattree:k=3,bandwidth=1e9,latency=0"),
            "topology 'fattree': k is '3'; it takes an even number");
}

}  // namespace
}  // namespace outpace::network
