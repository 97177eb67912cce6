#include "links/platform.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "links/route_test.h"

namespace outpace::links {
namespace {

Topology read(const std::string& file) {
  std::ifstream in(OUTPACE_TESTDATA "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return parse_platform(text.str(), file);
}

std::string platform_refusal(const std::string& text) {
  return refusal_of([&] { (void)parse_platform(text, "p.xml"); });
}

// What is wrong with these lines in a zone of hosts a and b, links l and s, and a route between
// them.
std::string zone_complaint(const std::string& lines) {
  return platform_refusal(
      "<platform version='4.1'><zone id='z' routing='Full'>"
      "<host id='a' speed='1Gf'/><host id='b' speed='1Gf'/>"
      "<link id='l' bandwidth='1MBps' latency='1ms'/>"
      "<link id='s' bandwidth='1MBps' latency='1ms' sharing_policy='SPLITDUPLEX'/>"
      "<route src='a' dst='b'><link_ctn id='l'/></route>\n" +
      lines + "</zone></platform>");
}

std::string cluster_complaint(const std::string& attributes) {
  return platform_refusal("<platform version='4.1'>\n<cluster id='c' prefix='h' suffix='' " +
                          attributes + "/></platform>");
}

TEST(Platform, ClusterHasALinkEachWayForEachHostAndABackboneForAll) {
  const Topology cluster = read("cluster.xml");
  EXPECT_EQ(cluster.hosts, (std::vector<std::string>{"host-0.test", "host-1.test", "host-7.test"}));
  EXPECT_EQ(route(cluster, 0, 2), "rack_link_0_UP rack_backbone rack_link_7_DOWN");
  EXPECT_EQ(route(cluster, 2, 1), "rack_link_7_UP rack_backbone rack_link_1_DOWN");
  ASSERT_EQ(cluster.links.size(), 7U);
  EXPECT_EQ(cluster.links[5],
            (Link{.name = "rack_link_7_DOWN", .bandwidth = 1e7, .latency = 1e-3}));
  EXPECT_EQ(cluster.links[6], (Link{.name = "rack_backbone", .bandwidth = 1.5e7, .latency = 5e-4}));
}

TEST(Platform, ClusterNeedsNoBackbone) {
  const Topology cluster = parse_platform(
      "<platform version='4.1'><cluster id='c' prefix='h' suffix='' radical='0-1' speed='1Gf' "
      "bw='1MBps' lat='0s'/></platform>",
      "p.xml");
  EXPECT_EQ(route(cluster, 0, 1), "c_link_0_UP c_link_1_DOWN");
}

TEST(Platform, ZoneHasTheRoutesOfItsFileAndBack) {
  const Topology zone = read("zone.xml");
  EXPECT_EQ(zone.hosts, (std::vector<std::string>{"left", "middle", "right"}));
  EXPECT_EQ(route(zone, 0, 1), "near");
  EXPECT_EQ(route(zone, 1, 0), "near");
  EXPECT_EQ(route(zone, 0, 2), "near far_UP");
  EXPECT_EQ(route(zone, 2, 0), "far_DOWN near");  // The other way round, in the other direction.
  EXPECT_EQ(route(zone, 1, 2), "far_UP");
  EXPECT_EQ(route(zone, 2, 1), "far_DOWN near");
  EXPECT_EQ(route(zone, 0, 0), "loop");
  EXPECT_EQ(route(zone, 1, 1), "");
  ASSERT_EQ(zone.links.size(), 4U);
  EXPECT_EQ(
      zone.links[3],
      (Link{.name = "loop", .bandwidth = 4e8, .latency = 15 * 1e-6, .sharing = Sharing::kFatpipe}));
}

TEST(Platform, NamesTheLineAndWhatWouldBeRight) {
  EXPECT_EQ(zone_complaint(""), "accepted");
  EXPECT_EQ(zone_complaint("<link id='m' bandwidth='-1MBps' latency='1ms'/>"),
            "p.xml:2: <link> 'm': bandwidth is '-1MBps'; it takes a number above 0 with a unit, "
            "such as 125MBps");
  EXPECT_EQ(zone_complaint("<link id='m' bandwidth='1000000' latency='1ms'/>"),
            "p.xml:2: <link> 'm': bandwidth is '1000000'; it takes a number above 0 with a unit, "
            "such as 125MBps");
  EXPECT_EQ(zone_complaint("<link id='m' bandwidth='1MBps' latency='1'/>"),
            "p.xml:2: <link> 'm': latency is '1'; it takes a number of at least 0 with a unit, "
            "such as 50us");
  EXPECT_EQ(zone_complaint("<link id='m' bandwidth='1MBps'/>"),
            "p.xml:2: <link> 'm': attribute 'latency' is missing");
  EXPECT_EQ(zone_complaint("<link id='m' bandwidth='1MBps' latency='1ms' sharing_policy='WIFI'/>"),
            "p.xml:2: <link> 'm': sharing_policy is 'WIFI'; it takes SHARED|FATPIPE|SPLITDUPLEX");
  EXPECT_EQ(zone_complaint("<host id='c' speed='0f'/>"),
            "p.xml:2: <host> 'c': speed is '0f'; it takes a number above 0 with a unit, such as "
            "1Gf");
  EXPECT_EQ(zone_complaint("<host id='c' speed='1Gf'/>"),
            "p.xml:1: <zone> 'z': no route from 'a' to 'c'; every two hosts take one");
  EXPECT_EQ(zone_complaint("<host id='a' speed='1Gf'/>"),
            "p.xml:2: <host> 'a': a second host of this id");
  EXPECT_EQ(zone_complaint("<link id='l' bandwidth='1MBps' latency='1ms'/>"),
            "p.xml:2: <link> 'l': a second link of this id");
}

TEST(Platform, RefusesARouteThatLeadsNowhere) {
  EXPECT_EQ(zone_complaint("<route src='a' dst='x'><link_ctn id='l'/></route>"),
            "p.xml:2: <route>: dst is 'x'; it takes the id of a <host>");
  EXPECT_EQ(zone_complaint("<route src='a' dst='a'>\n<link_ctn id='x'/></route>"),
            "p.xml:3: <link_ctn> 'x': no such link; a route takes the id of a <link>");
  EXPECT_EQ(zone_complaint("<route src='a' dst='a'/>"),
            "p.xml:2: <route>: no links; a route takes at least one <link_ctn>");
  EXPECT_EQ(zone_complaint("<route src='b' dst='a'><link_ctn id='l'/></route>"),
            "p.xml:2: <route>: a second route from 'b' to 'a'; a symmetrical route goes both ways");
  EXPECT_EQ(zone_complaint("<route src='a' dst='a'><link_ctn id='s'/></route>"),
            "p.xml:2: <link_ctn> 's': direction is missing; a SPLITDUPLEX link has UP and DOWN");
  EXPECT_EQ(zone_complaint("<route src='a' dst='a'><link_ctn id='l' direction='UP'/></route>"),
            "p.xml:2: <link_ctn> 'l': direction is given; only a SPLITDUPLEX link has one");
  EXPECT_EQ(zone_complaint("<route src='a' dst='a' symmetrical='maybe'/>"),
            "p.xml:2: <route>: symmetrical is 'maybe'; it takes YES|NO");
}

TEST(Platform, RefusesWhatItDoesNotSupport) {
  EXPECT_EQ(zone_complaint("<router id='r'/>"),
            "p.xml:2: element 'router' is not supported here; did you mean 'route'?");
  EXPECT_EQ(zone_complaint("<host id='c' speed='1Gf' core='4'/>"),
            "p.xml:2: <host> 'c': attribute 'core' is not supported; known: id, speed");
  EXPECT_EQ(platform_refusal("<platform version='4.1'><zone id='z' routing='Floyd'/></platform>"),
            "p.xml:1: <zone> 'z': routing is 'Floyd'; it takes Full");
  EXPECT_EQ(platform_refusal("<platform version='3'/>"),
            "p.xml:1: <platform>: version is '3'; it takes 4.1");
  EXPECT_EQ(platform_refusal("<platform version='4.1'/>"),
            "p.xml:1: <platform>: 0 clusters and zones; one <cluster> or <zone> was expected");
  EXPECT_EQ(platform_refusal("<platform version='4.1'><zone id='z' routing='Full'/></platform>"),
            "p.xml:1: <platform>: no hosts; at least one was expected");
}

TEST(Platform, RefusesAClusterThatIsNone) {
  EXPECT_EQ(cluster_complaint("radical='0-3' speed='1Gf' bw='1MBps' lat='1ms'"), "accepted");
  EXPECT_EQ(cluster_complaint("radical='3-0' speed='1Gf' bw='1MBps' lat='1ms'"),
            "p.xml:2: <cluster> 'c': radical is '3-0'; it takes numbers and ranges of them, such "
            "as 0-99,105, and 1000000 hosts at most");
  EXPECT_EQ(cluster_complaint("radical='0-1000000' speed='1Gf' bw='1MBps' lat='1ms'"),
            "p.xml:2: <cluster> 'c': radical is '0-1000000'; it takes numbers and ranges of them, "
            "such as 0-99,105, and 1000000 hosts at most");
  EXPECT_EQ(cluster_complaint("radical='0-3,2' speed='1Gf' bw='1MBps' lat='1ms'"),
            "p.xml:2: <cluster> 'c': radical has 2 twice");
  EXPECT_EQ(cluster_complaint("radical='0-3' speed='1Gf' bw='1MBps' lat='1ms' bb_bw='1MBps'"),
            "p.xml:2: <cluster> 'c': attribute 'bb_lat' is missing");
  EXPECT_EQ(cluster_complaint("radical='0-3' speed='1Gf' bw='1MBps' lat='1ms' topology='TORUS'"),
            "p.xml:2: <cluster> 'c': attribute 'topology' is not supported; known: id, prefix, "
            "suffix, radical, speed, bw, lat, bb_bw, bb_lat");
}

}  // namespace
}  // namespace outpace::links
