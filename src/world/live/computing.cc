// Tested by test/program/ledger_test.py (class Death).

#include "live/computing.h"

#include <algorithm>

namespace outpace::live {

std::size_t Computing::wait_for_pace(std::uint32_t nominal, std::size_t examples) {
  const std::uint64_t iteration = iteration_++;
  const double share = static_cast<double>(examples) / static_cast<double>(nominal);
  const Time start = session().now();
  const double slowness = session().slowness();
  const auto slowed = [slowness](Duration time) {
    return slowness == 1.0 ? time : from_seconds(to_seconds(time) * slowness);
  };
  const Time finish = start + slowed(pace.finish(start, share, iteration) - start);
  if (finish <= start) {  // To ask the system for no sleep takes a tenth of a millisecond.
    return examples;
  }
  switch (session().sleep_until(finish)) {
    case worker::CancelMode::kNone:
      return examples;
    case worker::CancelMode::kAbandon:
      return 0;
    case worker::CancelMode::kKeepPart:
      break;
  }
  const Time reached = start + from_seconds(to_seconds(session().now() - start) / slowness);
  const double done = std::min(share, pace.done(start, reached, iteration));
  return std::min(examples, static_cast<std::size_t>(done * nominal + 1e-9));
}

std::optional<protocol::Verdict> Computing::push(const WorkerSession::Result& result) {
  start_push(result);
  return finish_push();
}

void Computing::start_push(const WorkerSession::Result& result) {
  if (observer_ != nullptr) {
    observer_->pushes(result);
  }
  session().start_push(result);
}

std::optional<protocol::Verdict> Computing::finish_push() {
  std::optional<protocol::Verdict> verdict = session().finish_push();
  if (observer_ != nullptr) {
    observer_->judged(verdict);
  }
  return verdict;
}

void Computing::take_up(Version at, update::LocalPhase* phase) {
  live::take_up(lasting_.keeper(), session().welcome(), worker(), at, own(phase));
}

void Computing::keep(Version at, StateKeeper::When when, update::LocalPhase* phase) {
  const OwnState state = own(phase);
  if (lasting_.keeper().keep && state.remembers()) {
    lasting_.keeper().keep(session().welcome(), at, when, state);
  }
}

}  // namespace outpace::live
