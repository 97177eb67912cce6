// For tests: a ring and a gossip of four workers.

#pragma once

#include <array>
#include <string>
#include <vector>

#include "peers/cluster.h"

namespace outpace::peers {

inline constexpr std::uint32_t kFour = 4;

inline sim::DrawnTiming timing_of(const std::string& runtimes) {
  return {sim::Runtimes::parse(runtimes, {.workers = kFour, .seed = 1, .read_file = {}}), {}};
}
inline Options ring_of_four() {
  return {.kind = Kind::kRing,
          .batches = {.workers = kFour, .batch = 5, .examples = 1000, .epochs = 3},
          .latency = std::chrono::milliseconds(1)};
}
inline Options gossip_of_four(peer::Averaging averaging) {
  Options options = ring_of_four();
  options.kind = Kind::kGossip;
  options.averaging = averaging;
  options.graph = peer::both_move(averaging) ? worker::Graph::kBipartite : worker::Graph::kComplete;
  options.batches.epochs = 0;
  options.batches.updates = 400;
  return options;
}
inline peer::Outcome run_four(Options options,
                              const std::vector<std::string>& faults = {},
                              const Decided& decided = nullptr) {
  for (const std::string& fault : faults) {
    options.faults.push_back(sim::parse_fault(fault, kFour));
  }
  check_faults(options.faults);
  sim::DrawnTiming timing = timing_of("4*lognormal(mean=100ms,cv=0.5)");
  return Cluster(options, timing, nullptr, decided).run();
}

inline constexpr std::array kAllAveragings{peer::Averaging::kCoupled,
                                           peer::Averaging::kFree,
                                           peer::Averaging::kPull,
                                           peer::Averaging::kPush,
                                           peer::Averaging::kElastic};

}  // namespace outpace::peers
