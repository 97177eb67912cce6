// How the workers of a gossip average their weights, and which of them meet.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "job/option_list.h"
#include "job/value_text.h"
#include "peer/averaging.h"
#include "worker/neighbour.h"
#include "worker/topology.h"

namespace outpace::job {

using peer::Averaging;
using peer::both_move;

template <>
struct Choices<Averaging> {
  static constexpr std::array<std::pair<std::string_view, Averaging>, 5> kWords{
      {{"coupled", Averaging::kCoupled},
       {"free", Averaging::kFree},
       {"pull", Averaging::kPull},
       {"push", Averaging::kPush},
       {"easgd", Averaging::kElastic}}};
};

template <>
struct Choices<worker::Graph> {
  static constexpr std::array<std::pair<std::string_view, worker::Graph>, 4> kWords{
      {{"complete", worker::Graph::kComplete},
       {"bipartite", worker::Graph::kBipartite},
       {"ring", worker::Graph::kRing},
       {"exponential", worker::Graph::kExponential}}};
};

struct GossipOptions {
  Averaging averaging = Averaging::kCoupled;
  worker::Graph graph = worker::Graph::kBipartite;
  std::uint32_t average_every = 1;  // Gradients for each averaging.
  double elasticity = 0.9;          // For easgd: beta.
};
void declare(OptionList& options, GossipOptions& gossip);
// The same without the elasticity, on which throughput does not depend.
void declare_pace(OptionList& options, GossipOptions& gossip);

// After the options are set. Pull and push take the complete graph unless told otherwise, and easgd
// averages at every tenth gradient. Throws a usage error if two workers that move together would
// have no sides, and for an option of another way to average.
void fit_gossip(const OptionList& options, GossipOptions& gossip);

}  // namespace outpace::job
