#include "simulation/peers.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "job/option_list.h"

namespace outpace::simulation {
namespace {

std::string none(const std::string& option, const std::string& /*path*/) {
  throw usage_error("--" + option + " is not expected");
}

// As `outpace simulate` would read them.
job::SimulateJob simulate_with(const std::vector<std::pair<std::string, std::string>>& words) {
  job::SimulateJob job;
  job::OptionList options;
  declare(options, job);
  for (const auto& [name, value] : words) {
    options.find(name)->set({value}, "--" + name);
  }
  check(job);
  fit_peers(options, job);
  return job;
}

TEST(SimulatedPeers, ARingAndAGossipAreWhatIsAskedFor) {
  Peers gossip(simulate_with({{"topology", "gossip"},
                              {"gossip", "pull"},
                              {"workers", "6"},
                              {"updates", "90"},
                              {"transfer", "20ms"},
                              {"fault", "crash:worker=3,at=1s"}}),
               none);
  const peer::Setting setting = gossip.setting();
  EXPECT_EQ(setting.topology, job::Topology::kGossip);
  EXPECT_EQ(setting.averaging, peer::Averaging::kPull);
  EXPECT_EQ(setting.graph, worker::Graph::kComplete);  // As in a live run.
  EXPECT_EQ(setting.batches.workers, 6U);
  EXPECT_EQ(setting.batches.updates, 90U);
  const peer::Outcome outcome = gossip.run(nullptr);
  EXPECT_EQ(outcome.code, ExitCode::kDone);
  EXPECT_EQ(outcome.counts.crashed, 1U);
  EXPECT_TRUE(outcome.workers[3].lost);
  EXPECT_GE(outcome.updates, 90U);
  EXPECT_EQ(Peers(simulate_with({{"topology", "ring"}}), none).setting().batches.epochs, 5U);
}

TEST(SimulatedPeers, TransfersTakeTheirTime) {
  const auto ended = [](const char* transfer) {
    return Peers(simulate_with({{"topology", "ring"}, {"updates", "20"}, {"transfer", transfer}}),
                 none)
        .run(nullptr)
        .ended;
  };
  EXPECT_GE(ended("200ms") - ended("0s"), 20 * std::chrono::milliseconds(200));
}

TEST(SimulatedPeers, AWorkerAloneAndWorkersThatJoinAreRefused) {
  EXPECT_THROW(Peers(simulate_with({{"topology", "gossip"}, {"workers", "1"}}), none), Error);
  EXPECT_THROW(Peers(simulate_with({{"topology", "ring"}, {"fault", "join:worker=1,at=2s"}}), none),
               Error);
}

}  // namespace
}  // namespace outpace::simulation
