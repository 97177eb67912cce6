// Runs of a cluster whose messages share links.

#include <gtest/gtest.h>

#include "links/platform.h"
#include "links/shapes.h"
#include "sim/cluster.h"

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;

struct LinkedJob {
  std::string policy = "sync";
  std::string runtime = "constant(mean=100ms)";
  std::uint32_t workers = 4;
  server::Limits limits{.updates = 10};
  Duration latency{};
  std::vector<std::string> faults;
};

// A payload of 100 kB takes a link of 1 MB/s 100 ms.
Transfers::Options links(const std::string& shape, std::uint32_t workers) {
  return {
      .topology = links::make_shape(Spec::parse(shape), {.hosts = workers + 1U, .bandwidth = 1e6}),
      .payload = 1e5};
}

ClusterResult run_linked(const LinkedJob& job, const Transfers::Options* links) {
  ClusterOptions options{
      .policy = Spec::parse(job.policy),
      .coordinator = {.workers = job.workers, .batch = 4, .examples = 256, .limits = job.limits},
      .shard = {.optimizer = Spec::parse("sgd")},
      .target = {},
      .latency = job.latency,
      .links = links};
  for (const std::string& fault : job.faults) {
    options.faults.push_back(parse_fault(fault, job.workers));
  }
  DrawnTiming timing(
      Runtimes::parse(job.runtime, {.workers = job.workers, .seed = 1, .read_file = {}}), {});
  return Cluster(options, timing, nullptr, nullptr, nullptr).run();
}

constexpr const char* kFewPolicies[] = {
    "sync", "backup:cutoff=6", "async", "softsync:n=2", "ssp:s=3", "saps:s=12,action=preempt"};

// Weights and gradients of four workers take the server's link 400 ms each way.
TEST(ClusterMessages, ShareTheServersLink) {
  const auto star = links("star", 4);
  EXPECT_EQ(run_linked({}, &star).statistics.last_commit, Time{milliseconds(10 * 900)});
}

// S shards on links of their own have S times the bandwidth, until each worker's own link binds:
// weights and gradients take 400 ms / S each way, or 100 ms.
TEST(ClusterMessages, ShareTheLinksOfAllShards) {
  for (const std::uint32_t shards : {1U, 2U, 4U, 8U}) {
    Transfers::Options star = links("star", 3 + shards);
    star.servers.clear();
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      star.servers.push_back(links::HostId{shard});
    }
    const auto way = milliseconds(std::max(400U / shards, 100U));
    EXPECT_EQ(run_linked({}, &star).statistics.last_commit,
              Time{10 * (way + milliseconds(100) + way)})
        << shards << " shards";
  }
}

TEST(ClusterMessages, GoToTheHostThatTheServerIsOn) {
  auto tree = links("tree:racks=2,oversubscription=6", 5);
  const LinkedJob job{.workers = 5, .limits = {.updates = 1}};
  const std::uint64_t first = run_linked(job, &tree).hash;
  tree.servers = {links::HostId{2}};  // The same rack, and so the same workers behind the uplink.
  EXPECT_EQ(run_linked(job, &tree).hash, first);
  tree.servers = {links::HostId{5}};  // Now workers 0 to 2 are behind it, and not 2 to 4.
  const ClusterResult found = run_linked(job, &tree);
  EXPECT_NE(found.hash, first);
  EXPECT_EQ(found.statistics.last_commit, Time{milliseconds(600 + 100 + 600)});
}

TEST(ClusterMessages, TakeTheLatencyOfTheLinksAndThenTheirOwn) {
  const auto star = links("star:latency=1ms", 1);
  const ClusterResult found = run_linked({.workers = 1, .latency = milliseconds(5)}, &star);
  EXPECT_EQ(found.statistics.last_commit, Time{milliseconds(10 * (107 + 100 + 107))});
}

// Nobody waits for anybody under async, but all four begin at once, and so share first the one
// way and then the other: 400 ms, 1 ms and 400 ms for four gradients.
TEST(ClusterMessages, KeepWorkersInStepThatShareALink) {
  const auto star = links("star", 4);
  const ClusterResult found = run_linked(
      {.policy = "async", .runtime = "constant(mean=1ms)", .limits = {.updates = 1000}}, &star);
  EXPECT_EQ(found.statistics.last_commit, Time{milliseconds(250 * 801)});
}

TEST(ClusterMessages, OfARackShareItsUplink) {
  // Server and two workers in rack 0; three workers in rack 1, whose uplink carries half a host's.
  const auto tree = links("tree:racks=2,oversubscription=6", 5);
  const ClusterResult found = run_linked({.workers = 5, .limits = {.updates = 1}}, &tree);
  // Down: 300 kB at 0.5 MB/s to rack 1, while the others have the other half of the server's link:
  // 400 ms and 600 ms. Up: rack 0 from 500 to 700 ms, then rack 1.
  EXPECT_EQ(found.statistics.last_commit, Time{milliseconds(600 + 100 + 600)});
}

TEST(ClusterMessages, OfAPlatformFileGoByItsRoutes) {
  const Transfers::Options platform{
      .topology = links::parse_platform(
          "<platform version='4.1'><zone id='z' routing='Full'>"
          "<host id='server' speed='1Gf'/><host id='worker' speed='1Gf'/>"
          "<link id='up' bandwidth='1MBps' latency='3ms'/>"
          "<link id='down' bandwidth='2MBps' latency='4ms'/>"
          "<route src='server' dst='worker' symmetrical='NO'><link_ctn id='down'/></route>"
          "<route src='worker' dst='server' symmetrical='NO'><link_ctn id='up'/></route>"
          "</zone></platform>",
          "p.xml"),
      .payload = 1e5};
  const ClusterResult found = run_linked({.workers = 1}, &platform);
  EXPECT_EQ(found.statistics.last_commit, Time{milliseconds(10 * (54 + 100 + 103))});
}

TEST(ClusterMessages, AreAFunctionOfTheOptions) {
  const auto tree = links("tree:racks=3,oversubscription=2,latency=25us", 8);
  for (const char* policy : kFewPolicies) {
    const LinkedJob job{.policy = policy,
                        .runtime = "exponential(mean=100ms)",
                        .workers = 8,
                        .limits = {.updates = 200}};
    const ClusterResult once = run_linked(job, &tree);
    EXPECT_EQ(once.hash, run_linked(job, &tree).hash) << policy;
    EXPECT_NE(once.hash, run_linked(job, nullptr).hash) << policy;
  }
}

TEST(ClusterMessages, TakeAsLongIfTheLinksAreMeasured) {
  for (const char* policy : kFewPolicies) {
    auto tree = links("tree:racks=3,oversubscription=2,latency=25us", 9);
    tree.servers = {links::HostId{4}, links::HostId{0}};
    const LinkedJob job{.policy = policy,
                        .runtime = "exponential(mean=100ms)",
                        .workers = 8,
                        .limits = {.updates = 200},
                        .faults = {"crash:worker=1,at=500ms,for=1s"}};
    const std::uint64_t hash = run_linked(job, &tree).hash;
    LinkUse use(tree.topology.links.size());
    tree.use = &use;
    EXPECT_EQ(run_linked(job, &tree).hash, hash) << policy;
  }
}

// Weights 400 ms, computing 100 ms, gradients 400 ms: the server's links are full then, and each
// worker's a quarter.
TEST(ClusterMessages, AreSeenOnTheLinksThatTheyPass) {
  auto star = links("star", 4);
  LinkUse use(star.topology.links.size());
  star.use = &use;
  (void)run_linked({.limits = {.updates = 1}}, &star);
  EXPECT_EQ(use.end(), Time{milliseconds(900)});
  const auto rate = [&](links::LinkId link, int ms) {
    return use.rates(link).at(static_cast<std::size_t>(milliseconds(ms) / use.window()));
  };
  for (const auto& [ms, down, up] :
       {std::tuple{200, 1e6, 0.0}, {450, 0.0, 0.0}, {600, 0.0, 1e6}, {899, 0.0, 1e6}}) {
    EXPECT_NEAR(rate(links::up_link(0), ms), down, 1) << ms;
    EXPECT_NEAR(rate(links::down_link(0), ms), up, 1) << ms;
    EXPECT_NEAR(rate(links::down_link(3), ms), down / 4, 1) << ms;
    EXPECT_NEAR(rate(links::up_link(3), ms), up / 4, 1) << ms;
  }
}

TEST(ClusterMessages, OfWorkersThatCrashAreLostAndEachExampleOfAnEpochIsUsedOnce) {
  const auto star = links("star:latency=25us", 8);
  for (const char* policy : kFewPolicies) {
    const ClusterResult found = run_linked({.policy = policy,
                                            .runtime = "exponential(mean=100ms)",
                                            .workers = 8,
                                            .limits = {.epochs = 4},
                                            .faults = {"crash:worker=1,at=500ms",
                                                       "crash:worker=3,at=1s,for=300ms",
                                                       "leave:worker=5,at=1200ms",
                                                       "crash:worker=7,at=1500ms,for=10us",
                                                       "crash:worker=7,at=4s,for=2s"}},
                                           &star);
    EXPECT_EQ(found.why, "epochs done") << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_min, 1U) << policy;
    EXPECT_EQ(found.statistics.examples_used_per_epoch_max, 1U) << policy;
    EXPECT_EQ(found.statistics.workers[1].incarnations, 1U) << policy;
    EXPECT_EQ(found.statistics.workers[7].incarnations, 3U) << policy;
  }
}

// Two send 100 kB at once; one of them dies half-way, and the other has the link to itself.
TEST(ClusterMessages, OfAWorkerThatCrashesLeaveTheirBandwidth) {
  const auto star = links("star", 2);
  const LinkedJob job{
      .workers = 2, .limits = {.updates = 1}, .faults = {"crash:worker=1,at=400ms"}};
  // Weights 200 ms, computing 100 ms; of the gradients 50 kB each by 400 ms, then 50 kB alone.
  EXPECT_EQ(run_linked(job, &star).statistics.last_commit, Time{milliseconds(450)});
}

}  // namespace
}  // namespace outpace::sim
