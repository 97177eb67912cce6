#include "simulation/cluster_of_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::simulation {
namespace {

using Simulate = job::Declared<job::SimulateJob>;

std::string no_file(const std::string& option, const std::string& /*path*/) {
  throw usage_error("--" + option + " is not expected");
}

TEST(ClusterOfJob, HasAHostForEachWorkerAndShard) {
  Simulate simulate;
  EXPECT_FALSE(make_links(simulate.job, no_file));
  simulate.give("bandwidth", "1Gbps")
      .give("payload", "400kB")
      .give("shards", "2")
      .give("workers", "3");
  const auto links = make_links(simulate.job, no_file);
  ASSERT_TRUE(links);
  EXPECT_EQ(links->topology.hosts.size(), 5);
  EXPECT_EQ(links->payload, 400'000.0);
  EXPECT_EQ(links->servers.size(), 2);
}

TEST(ClusterOfJob, ReadsTheFilesThatItsOptionsName) {
  Simulate simulate;
  simulate.give("platform", "p.xml").give("payload", "400kB");
  EXPECT_EQ(refusal_of([&] { (void)make_links(simulate.job, no_file); }),
            "--platform is not expected");
  simulate.give("delays", "d.csv");
  EXPECT_EQ(refusal_of([&] { (void)make_timing(simulate.job, no_file); }),
            "--delays is not expected");
}

TEST(ClusterOfJob, WorkersThatMayJoinComeWhenAFaultSaysSoOrNever) {
  Simulate simulate;
  simulate.give("workers", "2").give("max-workers", "4").give("fault", "join:worker=3,at=2s");
  const std::vector<sim::Fault> faults = make_faults(simulate.job);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].worker, WorkerId{3});
  EXPECT_EQ(faults[0].at, Time{std::chrono::seconds(2)});
  EXPECT_EQ(faults[1].worker, WorkerId{2});
  EXPECT_EQ(faults[1].at, sim::Fault::kNeverComes);
}

}  // namespace
}  // namespace outpace::simulation
