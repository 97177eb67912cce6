// What a run waits for before it begins, and which offers have lapsed.

#include <algorithm>
#include <set>
#include <utility>

#include "admission/admission.h"

namespace outpace::admission {
namespace {

std::string in_seconds(Duration duration) {
  return std::to_string(static_cast<int>(to_seconds(duration))) + " s";
}

}  // namespace

void Admission::settle(Time now, Effects& out) {
  for (const ConnectionId gone : std::exchange(gone_, {})) {
    lapse(now, gone, out);
  }
  join_waiting(out);
}

void Admission::lapse(Time now, ConnectionId gone, Effects& out) {
  if (end_ || earlier_.resumed() || begun_) {
    return;
  }
  const bool workers = roster_.workers() > 0;
  const bool weights_left = weights_.from() && (weights_.from() == gone || !workers);
  if (workers && !weights_left) {
    return;
  }
  if (open_) {  // Those that have joined the coordinator join the next one.
    open_ = false;
    gathers_since_ = now;
    out.emplace_back(Reset{});
  }
  if (weights_left) {
    weights_.lapsed();
    gathers_since_ = now;
    out.emplace_back(ForgetWeights{});
  }
  if (!workers) {
    terms_.examples = 0;
    terms_.network = roster_.evaluators() > 0 ? terms_.network : options_.network;
    if (terms_.script) {
      set_script(std::nullopt, out);
    }
  }
  roster_.unjoin_all();
  if (weights_left) {
    welcome_all(out);
  }
}

void Admission::join_waiting(Effects& out) {
  if (end_ || roster_.waiting().empty() || !weights_.there() ||
      (expects_evaluator_ && !evaluators_.served() && !open_)) {
    return;
  }
  if (!std::exchange(open_, true)) {
    out.emplace_back(Open{});
  }
  Join join;
  for (const ConnectionId connection : std::set(roster_.waiting())) {
    const Peer& peer = *roster_.find(connection);
    join.workers.push_back({.peer = connection,
                            .newcomer = {.worker = peer.worker,
                                         .incarnation = peer.incarnation,
                                         .host = peer.host,
                                         .ahead = peer.ahead,
                                         .stands_for = peer.stands_for},
                            .has_constants = peer.seen_job == options_.job});
    roster_.joined(connection);
  }
  out.emplace_back(std::move(join));
}

void Admission::welcome_all(Effects& out) {
  for (const ConnectionId connection : roster_.all(Role::kWorker)) {
    const Peer& peer = *roster_.find(connection);
    out.emplace_back(Welcome{.peer = connection,
                             .incarnation = peer.incarnation,
                             .needs_weights = weights_.asks(peer.worker)});
  }
}

// ---- Time before the beginning ----------------------------------------------------------------

Time Admission::next_deadline() const {
  if (begun_ || end_) {
    return Time::max();
  }
  return open_ ? awaited_.next()
               : std::min(awaited_.next(),
                          asks_all_at().value_or(gathers_since_ + options_.patience));
}

void Admission::tick(Time now, Effects& out) {
  if (begun_ || end_) {
    return;
  }
  if (const std::string line = awaited_.say(now, missing()); !line.empty()) {
    out.emplace_back(Awaits{line});
  }
  if (open_) {
    return;
  }
  if (const std::optional<Time> due = asks_all_at(); due && now >= *due) {
    weights_.ask_all();
    out.emplace_back(Warn{"worker 0 has not come in " + in_seconds(options_.patience / 2) +
                          ": the run begins with another worker's weights"});
    welcome_all(out);
  }
  if (now >= gathers_since_ + options_.patience) {
    start_without_evaluator(out);
  }
}

Missing Admission::missing() const {
  return {.there = roster_.workers(),
          .workers = options_.workers - options_.later,
          .weights = !weights_.there(),
          .evaluator = expects_evaluator_ && !evaluators_.served()};
}

std::optional<Time> Admission::asks_all_at() const {
  if (!weights_.awaits_rank_0() || roster_.workers() == 0 || roster_.holder(WorkerId{0})) {
    return std::nullopt;
  }
  return gathers_since_ + options_.patience / 2;
}

void Admission::start_without_evaluator(Effects& out) {
  const bool workers_wait = weights_.there() && terms_.examples != 0;
  if (workers_wait && !options_.needs_evaluator) {
    out.emplace_back(Warn{"starting without the evaluator: it has not come in " +
                          in_seconds(options_.patience)});
    expects_evaluator_ = false;
    return;
  }
  end_now(ExitCode::kTooFewWorkers,
          workers_wait ? "the evaluator has not come, and the run's target or policy needs one"
                       : "too few workers: none has come",
          out);
}

}  // namespace outpace::admission
