#include "swarm/peer_job.h"

#include <map>

#include <gtest/gtest.h>

#include "sim/runtimes.h"

namespace outpace::swarm {
namespace {

TEST(PeerPlan, IsAFunctionOfItsSeed) {
  EXPECT_EQ(to_words(draw_peer_plan(7)), to_words(draw_peer_plan(7)));
  EXPECT_NE(to_words(draw_peer_plan(7)), to_words(draw_peer_plan(8)));
}

TEST(PeerPlan, HasOptionsThatAreReadAndAllWaysToAverage) {
  std::map<std::string, int> kinds;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const PeerPlan plan = draw_peer_plan(seed);
    const std::uint32_t workers = plan.options.batches.workers;
    EXPECT_NO_THROW((void)sim::Runtimes::parse(plan.runtime,
                                               {.workers = workers, .seed = seed, .read_file = {}}))
        << plan.runtime;
    std::vector<sim::Fault> faults;
    for (const std::string& fault : plan.faults) {
      faults.push_back(sim::parse_fault(fault, workers));
    }
    EXPECT_NO_THROW(peers::check_faults(faults)) << to_words(plan);
    const bool ring = plan.options.kind == peers::Kind::kRing;
    ++kinds[ring ? "ring" : std::to_string(static_cast<int>(plan.options.averaging))];
  }
  EXPECT_EQ(kinds.size(), 6U);
  for (const auto& [kind, times] : kinds) {
    EXPECT_GT(times, 50) << kind;
  }
}

}  // namespace
}  // namespace outpace::swarm
