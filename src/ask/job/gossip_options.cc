#include "job/gossip_options.h"

#include <string>

#include "base/error.h"

namespace outpace::job {
namespace {

constexpr std::uint32_t kElasticEvery = 10;  // tau of most of the paper's experiments.

}  // namespace

void declare_pace(OptionList& options, GossipOptions& gossip) {
  options.add(
      "gossip",
      gossip.averaging,
      "How a gossip averages. coupled: two neighbours meet in the middle, and each gradient "
      "goes with exactly one meeting (AD-PSGD). free: no gradient waits for a meeting, and "
      "some meetings are skipped. pull, push: only the worker that receives weights moves. easgd: "
      "all move towards one "
      "centre, and it towards them");
  options
      .add("graph",
           gossip.graph,
           "Which workers of a gossip are neighbours. bipartite: those of even rank with those of "
           "odd rank. ring: the next and the last rank. exponential: 1, 3, 5, 9, 17, ... ranks "
           "apart. complete: all, for pull and push only")
      .default_words("bipartite; --gossip pull or push: complete");
  options
      .add("average-every",
           gossip.average_every,
           "Gradients of a worker of a gossip for each averaging that it begins")
      .between(1)
      .default_words("1; --gossip easgd: 10");
}

void declare(OptionList& options, GossipOptions& gossip) {
  declare_pace(options, gossip);
  options
      .add("elasticity",
           gossip.elasticity,
           "beta of --gossip easgd: at each averaging, a worker moves by beta / workers of its "
           "distance from the centre")
      .between(0, 1);
}

void fit_gossip(const OptionList& options, GossipOptions& gossip) {
  const bool elastic = gossip.averaging == Averaging::kElastic;
  const char* const other = elastic ? "graph" : "elasticity";
  if (const Option* const option = options.find(other); option != nullptr && option->changed()) {
    throw usage_error(
        "--" + std::string(other) + " conflicts with --gossip " +
        Value<Averaging>::text(gossip.averaging) +
        (elastic ? ", whose workers meet the centre alone" : ": it belongs to easgd") +
        "; remove it");
  }
  if (elastic) {
    if (!options.at("average-every").given()) {
      gossip.average_every = kElasticEvery;
    }
    return;
  }
  const bool sides = both_move(gossip.averaging);
  if (!sides && !options.at("graph").given()) {
    gossip.graph = worker::Graph::kComplete;
  }
  if (sides && gossip.graph == worker::Graph::kComplete) {
    throw usage_error("--graph complete conflicts with --gossip " +
                      Value<Averaging>::text(gossip.averaging) +
                      ": workers that ask each other would wait in a circle; take --graph "
                      "bipartite, or --gossip pull or push");
  }
}

}  // namespace outpace::job
