#include "job/gossip_options.h"

#include <string>

#include "base/error.h"

namespace outpace::job {

void declare(OptionList& options, GossipOptions& gossip) {
  options.add(
      "gossip",
      gossip.averaging,
      "How a gossip averages. coupled: two neighbours meet in the middle, and each gradient "
      "goes with exactly one meeting (AD-PSGD). free: no gradient waits for a meeting, and "
      "some meetings are skipped. pull, push: only the worker that receives weights moves");
  options
      .add("graph",
           gossip.graph,
           "Which workers of a gossip are neighbours. bipartite: those of even rank with those of "
           "odd rank. ring: the next and the last rank. exponential: 1, 3, 5, 9, 17, ... ranks "
           "apart. complete: all, for pull and push only")
      .default_words("bipartite; --gossip pull or push: complete");
}

void fit_graph(const OptionList& options, GossipOptions& gossip) {
  const bool both_move =
      gossip.averaging == Averaging::kCoupled || gossip.averaging == Averaging::kFree;
  if (!both_move && !options.at("graph").given()) {
    gossip.graph = Graph::kComplete;
  }
  if (both_move && gossip.graph == Graph::kComplete) {
    throw usage_error("--graph complete conflicts with --gossip " +
                      Value<Averaging>::text(gossip.averaging) +
                      ": workers that ask each other would wait in a circle; take --graph "
                      "bipartite, or --gossip pull or push");
  }
}

}  // namespace outpace::job
