// What came of a run without a server. A value.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace outpace::peer {

struct Outcome {
  struct Counts {
    std::uint64_t crashed = 0;      // Workers.
    std::uint64_t silenced = 0;     // Workers that stood still, and were counted as lost.
    std::uint64_t connections = 0;  // Closed, although nobody was gone.
    std::uint64_t delayed = 0;      // Messages.
    std::uint64_t caught_up = 0;    // Workers of a ring that got an update from another.
    std::uint64_t broken_sums = 0;
  };
  struct Worker {
    bool lost = false;
    std::uint64_t gradients = 0;  // Applied; of a ring, computed.
    std::uint64_t meetings = 0;   // That it began, and that are over.
    Duration waited{};            // With a gradient that was ready.
  };

  ExitCode code = ExitCode::kDone;
  std::string why;
  Time ended{};
  std::uint64_t updates = 0;  // In a gossip: gradients.
  std::uint64_t gradients = 0;
  std::uint64_t examples = 0;
  std::uint32_t groups = 0;  // That were formed.
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  // All events': the same for the same options.
  Counts counts;
  std::vector<Worker> workers;
};

}  // namespace outpace::peer
