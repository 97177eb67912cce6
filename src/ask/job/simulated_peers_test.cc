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

TEST(SimulatedPeers, OptionsOfAServerAreRefused) {
  for (const auto& words : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"topology", "ring"}, {"staleness", "inverse"}},
           {{"topology", "ring"}, {"policy", "ssp:s=2"}},
           {{"topology", "ring"}, {"gossip", "pull"}},
           {{"topology", "gossip"}, {"graph", "complete"}},
           {{"topology", "ring"}, {"trace", "a.json"}},
           {{"gossip", "pull"}},
           {{"topology", "ring"}, {"compress", "int8"}},
           {{"topology", "ring"}, {"transfer", "20ms"}, {"compress-weights", "int8"}},
           {{"topology", "gossip"}, {"transfer", "20ms"}, {"compress", "topk"}},
           {{"transfer", "20ms"}}}) {
    EXPECT_THROW((void)simulate_with(words), Error) << words.back().first;
  }
}

TEST(SimulatedPeers, PackWhatTheyTransfer) {
  for (const char* const topology : {"ring", "gossip"}) {
    const SimulateJob job =
        simulate_with({{"topology", topology}, {"transfer", "20ms"}, {"compress", "int4"}});
    EXPECT_EQ(job.training.compress.text, "int4");
  }
}

}  // namespace
}  // namespace outpace::job
