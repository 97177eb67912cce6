#include "links/topology.h"

#include <gtest/gtest.h>

namespace outpace::links {
namespace {

TEST(RouteTable, HasNoLinksFromAHostToItselfUnlessItSaysSo) {
  const HostId first{0};
  const HostId second{1};
  Topology topology{.hosts = {"a", "b"}, .links = {}, .routes = {}};
  topology.routes =
      RouteTable{{{{first, first}, {LinkId{7}}}, {{first, second}, {LinkId{1}, LinkId{2}}}}};
  std::vector<LinkId> route{LinkId{99}};
  topology.route(second, second, route);
  EXPECT_TRUE(route.empty());
  topology.route(first, first, route);
  EXPECT_EQ(route, (std::vector{LinkId{7}}));
  topology.route(first, second, route);
  EXPECT_EQ(route, (std::vector{LinkId{1}, LinkId{2}}));
}

TEST(StarRoutes, PassTheBackboneIfThereIsOne) {
  std::vector<LinkId> route;
  StarRoutes{}.append(HostId{3}, HostId{1}, route);
  EXPECT_EQ(route, (std::vector{up_link(3), down_link(1)}));
  route.clear();
  StarRoutes{.backbone = LinkId{8}}.append(HostId{3}, HostId{1}, route);
  EXPECT_EQ(route, (std::vector{up_link(3), LinkId{8}, down_link(1)}));
}

}  // namespace
}  // namespace outpace::links
