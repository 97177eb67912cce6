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
           {{"transfer", "20ms"}}}) {
    EXPECT_THROW((void)simulate_with(words), Error) << words.back().first;
  }
}

}  // namespace
}  // namespace outpace::job
