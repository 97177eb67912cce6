// A job of `outpace simulate` without a server, in virtual time: a ring or a gossip.

#pragma once

#include <memory>

#include "job/simulate_job.h"
#include "job/work.h"
#include "peer/outcome.h"
#include "peer/replayed.h"
#include "peers/options.h"
#include "sim/timing.h"

namespace outpace::simulation {

class Peers {
 public:
  // Throws a usage error that names the option. REQUIRES: fit_peers() passed, and job.peers.any().
  Peers(const job::SimulateJob& job, const job::ReadFile& read_file);

  // What the workers' decisions follow from, for their log.
  [[nodiscard]] peer::Setting setting() const;
  // Once. `decided` may be null.
  [[nodiscard]] peer::Outcome run(const peers::Decided& decided);

 private:
  const peers::Options options_;
  std::unique_ptr<sim::Timing> timing_;
};

}  // namespace outpace::simulation
