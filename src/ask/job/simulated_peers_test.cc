#include "job/simulated_peers.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "job/layers.h"
#include "job/simulate_job.h"

namespace outpace::job {
namespace {

// As `outpace simulate` would read them.
SimulateJob simulate_with(const std::vector<std::pair<std::string, std::string>>& words) {
  SimulateJob job;
  OptionList options;
  declare(options, job);
  for (const auto& [name, value] : words) {
    options.find(name)->set({value}, "--" + name);
  }
  check(job);
  fit_peers(options, job);
  return job;
}

TEST(SimulatedPeers, ARingAndAGossipAreWhatIsAskedFor) {
  const SimulateJob job = simulate_with({{"topology", "gossip"},
                                         {"gossip", "pull"},
                                         {"workers", "6"},
                                         {"updates", "90"},
                                         {"transfer", "20ms"},
                                         {"fault", "crash:worker=3,at=1s"}});
  const peers::Options options = peer_options(job);
  EXPECT_EQ(options.kind, peers::Kind::kGossip);
  EXPECT_EQ(options.averaging, peer::Averaging::kPull);
  EXPECT_EQ(options.graph, worker::Graph::kComplete);  // As in a live run.
  EXPECT_EQ(options.batches.workers, 6U);
  EXPECT_EQ(options.batches.updates, 90U);
  EXPECT_EQ(options.transfer, std::chrono::milliseconds(20));
  EXPECT_EQ(options.faults.size(), 1U);
  EXPECT_EQ(peer_options(simulate_with({{"topology", "ring"}})).batches.epochs, 5U);
}

TEST(SimulatedPeers, OptionsOfAServerAreRefused) {
  for (const auto& words : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"topology", "ring"}, {"staleness", "inverse"}},
           {{"topology", "ring"}, {"policy", "ssp:s=2"}},
           {{"topology", "ring"}, {"gossip", "pull"}},
           {{"topology", "gossip"}, {"graph", "complete"}},
           {{"topology", "ring"}, {"trace", "a.json"}},
           {{"gossip", "pull"}},
           {{"transfer", "20ms"}}}) {
    EXPECT_THROW((void)simulate_with(words), Error) << words.back().first;
  }
  EXPECT_THROW((void)peer_options(simulate_with({{"topology", "gossip"}, {"workers", "1"}})),
               Error);
  EXPECT_THROW(
      (void)peer_options(simulate_with({{"topology", "ring"}, {"fault", "join:worker=1,at=2s"}})),
      Error);
}

}  // namespace
}  // namespace outpace::job
