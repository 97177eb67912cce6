#include "job/peer_packing.h"

#include <string>

#include "base/error.h"
#include "compress/format.h"
#include "job/live_job.h"

namespace outpace::job {

void check_packing(const OptionList& options, worker::Topology topology, const Spec& compress) {
  const bool ring = topology == Topology::kRing;
  if (options.at("compress-weights").changed()) {
    throw usage_error("--compress-weights conflicts with --topology " +
                      Value<Topology>::text(topology) + ", where --compress packs " +
                      (ring ? "gradients, and no weights travel" : "the weights that travel") +
                      "; remove it");
  }
  const auto asked = compress::Compression::parse(compress.text);
  if (ring || asked.format.kind == compress::Kind::kNone) {
    return;
  }
  if (asked.format.kind == compress::Kind::kTopK) {
    throw usage_error("--compress " + asked.name() +
                      " conflicts with --topology gossip: weights that are not sent are not 0; "
                      "take bf16 or int8");
  }
  if (asked.feedback != 1.0) {
    throw usage_error("--compress " + asked.name() +
                      " conflicts with --topology gossip: its workers keep their weights as they "
                      "are, and nothing is left behind; remove feedback");
  }
}

}  // namespace outpace::job
