// When messages arrive, and whether their connection ends: each pair has one connection, as TCP.
//
// What one worker sends another keeps its order. A message that is lost shows as a closed
// connection, to both.

#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "sim/faults.h"

namespace outpace::peers {

class Wires {
 public:
  Wires(const std::vector<sim::Fault>& faults, Duration latency, std::uint64_t seed);

  struct Passage {
    Time arrival;
    bool lost = false;  // At `arrival` the receiver sees that the connection is closed.
  };
  // `takes`: in addition to the latency. The host is one of the ends too; its messages are not
  // lost.
  struct Ends {
    std::uint32_t from;
    std::uint32_t to;
    auto operator<=>(const Ends&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  [[nodiscard]] Passage pass(Time now, const Ends& ends, Duration takes, bool may_be_lost);

  [[nodiscard]] std::uint64_t delayed() const { return delayed_; }

 private:
  [[nodiscard]] bool strikes(const sim::Fault& fault, sim::Fault::Kind kind, Time now);

  // Constant after construction.
  std::vector<sim::Fault> faults_;
  const Duration latency_;
  // State.
  Rng rng_;
  std::map<Ends, Time> newest_;  // Arrival.
  std::uint64_t delayed_ = 0;
};

}  // namespace outpace::peers
