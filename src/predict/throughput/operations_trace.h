// The synthetic execution trace of a predicted cluster: its elementary operations as a Chrome
// trace.
//
// The object form of the Trace Event Format, for ui.perfetto.dev. A server is process 0, and worker
// w is process w + 1. A worker has a thread for what it receives, one for what it computes and one
// for what it sends, because these three overlap; without a server, it has one for its steps too.
// Times are microseconds of virtual time.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/overlap.h"
#include "throughput/coarse_cluster.h"

namespace outpace::throughput {

class OperationsTrace {
 public:
  // `layers`: shares of computing, for a worker that computes between two whole transfers; may be
  // empty.
  OperationsTrace(Topology topology, std::vector<sim::Overlap::Layer> layers)
      : topology_(topology), layers_(std::move(layers)) {}

  void add(const sim::Operation& operation);
  // `title`: of the configuration. Operations are in order of their begin.
  [[nodiscard]] std::string json(const std::string& title) const;

 private:
  const Topology topology_;
  const std::vector<sim::Overlap::Layer> layers_;
  std::vector<sim::Operation> operations_;
};

}  // namespace outpace::throughput
