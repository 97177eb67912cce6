// What a run waits for before it begins, and that it does.
// Tested by src/world/live/worker_test.cc.

#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "live/server.h"

namespace outpace::live {

void Server::tell_begin() {
  if (callbacks_.begins && begun()) {
    callbacks_.begins(*manifest_);
    callbacks_.begins = nullptr;
  }
}

void Server::say_what_it_waits_for(Time now) {
  constexpr Duration kAgain = std::chrono::seconds(10);
  if (begun() || finish_ || !callbacks_.awaits || now - looked_for_ < kAwaitsPeriod) {
    return;
  }
  looked_for_ = now;
  const auto there = std::ranges::count_if(
      peers_, [](const auto& peer) { return peer.second.role == Role::kWorker; });
  std::string awaits = fmt::format("the run has not begun: {} of {} worker{} {} there",
                                   there,
                                   options_.coordinator.workers,
                                   options_.coordinator.workers == 1 ? "" : "s",
                                   options_.coordinator.workers == 1 ? "is" : "are");
  if (there > 0 && !shard_) {
    awaits += ", and the first weights are not";
  }
  if (options_.expects_evaluator && !evaluator_) {
    awaits += "; it waits for the evaluator";
  }
  if (awaits != awaits_ || now - said_awaits_ >= kAgain) {
    awaits_ = awaits;
    said_awaits_ = now;
    callbacks_.awaits(awaits);
  }
}

}  // namespace outpace::live
