#include "peers/wires.h"

#include <algorithm>

namespace outpace::peers {
namespace {

constexpr std::uint64_t kWireStream = 0x77697265;

}  // namespace

Wires::Wires(const std::vector<sim::Fault>& faults, Duration latency, std::uint64_t seed)
    : latency_(latency), rng_(seed, kWireStream) {
  for (const sim::Fault& fault : faults) {
    if (fault.kind == sim::Fault::Kind::kDelay || fault.kind == sim::Fault::Kind::kLose) {
      faults_.push_back(fault);
    }
  }
}

bool Wires::strikes(const sim::Fault& fault, sim::Fault::Kind kind, Time now) {
  return fault.kind == kind && now >= fault.at && now < fault.at + *fault.lasts &&
         rng_.uniform() < fault.probability;
}

Wires::Passage Wires::pass(Time now, const Ends& ends, Duration takes, bool may_be_lost) {
  Passage passage{.arrival = now + latency_ + takes};
  for (const sim::Fault& fault : faults_) {
    if (strikes(fault, sim::Fault::Kind::kDelay, now)) {
      passage.arrival += fault.by;
      ++delayed_;
    }
    if (may_be_lost && strikes(fault, sim::Fault::Kind::kLose, now)) {
      passage.lost = true;
    }
  }
  Time& newest = newest_[ends];
  newest = std::max(newest, passage.arrival);
  passage.arrival = newest;
  return passage;
}

}  // namespace outpace::peers
