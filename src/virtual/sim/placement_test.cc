#include "sim/placement.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "links/shapes.h"

namespace outpace::sim {
namespace {

using links::HostId;
using Hosts = std::vector<HostId>;
using Names = std::vector<std::string>;

links::Topology cluster() {
  links::Topology star = links::make_shape(Spec::parse("star"), {.hosts = 5, .bandwidth = 1e6});
  star.hosts[3] = "1";  // A name that looks like a number.
  return star;
}

std::string complaint(std::uint32_t shards, const Names& named) {
  return refusal_of([&] { (void)place_shards(shards, named, cluster()); });
}

TEST(Placement, TakesTheFirstHostsIfNoneAreNamed) {
  EXPECT_EQ(place_shards(1, {}, cluster()), (Hosts{HostId{0}}));
  EXPECT_EQ(place_shards(3, {}, cluster()), (Hosts{HostId{0}, HostId{1}, HostId{2}}));
}

TEST(Placement, TakesHostsByNameAndThenByNumber) {
  const Names named{"host4", "2", "1"};
  EXPECT_EQ(place_shards(3, named, cluster()), (Hosts{HostId{4}, HostId{2}, HostId{3}}));
}

TEST(Placement, RefusesWhatIsNoHost) {
  EXPECT_EQ(complaint(1, {"hots2"}), "server host 'hots2': no such host; did you mean 'host2'?");
  EXPECT_EQ(complaint(1, {"5"}),
            "server host '5': no such host; it takes a name such as 'host4', or a number from 0 "
            "to 4");
  EXPECT_EQ(complaint(1, {""}),
            "server host '': no such host; it takes a name such as 'host4', or a number from 0 "
            "to 4");
}

TEST(Placement, GivesEachShardAHostOfItsOwn) {
  EXPECT_EQ(complaint(3, {"host0", "host2"}),
            "server host: 2 named, but 3 needed, one for each of --shards");
  EXPECT_EQ(complaint(2, {"host2", "2"}),
            "server host '2' is named twice; each shard takes its own");
}

}  // namespace
}  // namespace outpace::sim
