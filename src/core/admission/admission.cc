#include "admission/admission.h"

#include <utility>

namespace outpace::admission {
namespace {

constexpr const char* kOneEvaluator = "this run has no server, and its evaluator is here";

}  // namespace

Admission::Admission(Options options)
    : options_(std::move(options)),
      terms_{.network = options_.network, .examples = 0, .script = std::nullopt},
      roster_(options_.incarnations),
      seats_(options_.seats_from, options_.workers, options_.seated),
      weights_(options_.has_weights),
      earlier_({.job = options_.job, .begins_again = options_.begins_again}),
      expects_evaluator_(options_.expects_evaluator) {}

void Admission::resume(Terms terms, Version version) {
  terms_ = std::move(terms);
  weights_ = FirstWeights(/*there=*/true);
  open_ = true;
  earlier_.resume(version);
}

void Admission::listens(Time now, std::string address) {
  address_ = std::move(address);
  gathers_since_ = now;
  awaited_.begin(now);
}

// ---- A worker comes ---------------------------------------------------------------------------

void Admission::hello(
    Time now, ConnectionId from, const protocol::Hello& worker, Version version, Effects& out) {
  if (end_) {
    return say_that_it_is_over(from, out);
  }
  if (const std::string why = why_unfit(worker, terms_, options_); !why.empty()) {
    return refuse(from, {protocol::Farewell::kIncompatible, why}, out);
  }
  if (!clear_rank(now, from, worker, out) || !look_back(worker, version, out)) {
    return;
  }
  take_terms(worker, out);
  seats_.here(worker.worker);
  const Peer& peer = roster_.add_worker(from,
                                        {.worker = worker.worker,
                                         .process = worker.process,
                                         .host = worker.host,
                                         .seen_job = worker.seen_job,
                                         .ahead = worker.ahead,
                                         .stands_for = worker.stands_for,
                                         .last_heard = now});
  out.emplace_back(Accept{.peer = from,
                          .worker = peer.worker,
                          .incarnation = peer.incarnation,
                          .needs_weights = weights_.asks(peer.worker),
                          .unanswered = worker.unanswered});
  if (worker.wants_evaluator) {
    ask_evaluator(now, out);
  }
}

std::optional<ConnectionId> Admission::in_the_way(Time now, const protocol::Hello& worker) const {
  const std::optional<ConnectionId> held = roster_.holder(worker.worker);
  if (!held || end_ || !why_unfit(worker, terms_, options_).empty()) {
    return std::nullopt;
  }
  const Peer& holder = *roster_.find(*held);
  const bool gives_way = holder.process == worker.process || silent_before_it_joined(now, holder);
  return gives_way ? std::nullopt : held;
}

// The coordinator judges the silence of those that have joined.
bool Admission::silent_before_it_joined(Time now, const Peer& peer) const {
  return !peer.joined && now - peer.last_heard >= options_.heartbeat_timeout;
}

bool Admission::clear_rank(Time now,
                           ConnectionId from,
                           const protocol::Hello& newcomer,
                           Effects& out) {
  const std::optional<ConnectionId> held = roster_.holder(newcomer.worker);
  if (!held) {
    return true;
  }
  const Peer& holder = *roster_.find(*held);
  if (holder.process == newcomer.process) {
    refuse(*held, {protocol::Farewell::kFenced, "this process has connected anew"}, out);
    return true;
  }
  if (silent_before_it_joined(now, holder)) {
    refuse(*held, {protocol::Farewell::kPresumedDead, "silent for too long"}, out);
    return true;
  }
  const std::string why = name(newcomer.worker) + " is alive at " + holder.host;
  refuse(from,
         {protocol::Farewell::kFenced, why + "; end that process first, or take another --worker"},
         out);
  out.emplace_back(Warn{"refused a process at " + newcomer.host + ": " + why});
  return false;
}

bool Admission::look_back(const protocol::Hello& worker, Version version, Effects& out) {
  const EarlierRun::Found found =
      earlier_.look_back(worker, begun_ ? std::optional(version) : std::nullopt);
  if (!found.lost.empty()) {
    out.emplace_back(Warn{found.lost});
  }
  if (!found.would_begin_anew.empty()) {
    end_now(ExitCode::kWouldBeginAnew, found.would_begin_anew, out);
  }
  return found.would_begin_anew.empty();
}

void Admission::take_terms(const protocol::Hello& worker, Effects& out) {
  terms_.network = worker.manifest;
  terms_.examples = worker.dataset_examples;
  if (!terms_.script) {
    set_script(worker.script, out);
  }
}

void Admission::set_script(std::optional<protocol::Script> script, Effects& out) {
  const bool groups = script.value_or(protocol::Script{}).groups !=
                      terms_.script.value_or(protocol::Script{}).groups;
  terms_.script = std::move(script);
  out.emplace_back(ScriptChanged{groups});
}

std::optional<std::vector<WorkerId>> Admission::give_seats(const Seats::Pass& pass,
                                                           std::uint32_t workers) {
  return seats_.give(
      pass, workers, [this](WorkerId worker) { return roster_.holder(worker).has_value(); });
}

Seats::Pass Admission::take_back_seats(WorkerId worker, std::vector<WorkerId>& workers) {
  Seats::Pass pass = seats_.owner(worker);
  workers = pass.empty() ? std::vector<WorkerId>{} : seats_.of(pass);
  return seats_.take_back(worker);
}

// ---- An evaluator comes -----------------------------------------------------------------------

void Admission::observe(ConnectionId from, const protocol::Observe& evaluator, Effects& out) {
  if (closed_) {
    return say_that_it_is_over(from, out);
  }
  if (options_.one_evaluator && evaluators_.served()) {
    return refuse(from, {protocol::Farewell::kIncompatible, kOneEvaluator}, out);
  }
  if (const std::string why = why_unfit(evaluator, terms_); !why.empty()) {
    return refuse(from, {protocol::Farewell::kIncompatible, why}, out);
  }
  roster_.add_evaluator(from);
  terms_.network = evaluator.manifest;
  if (!evaluators_.come(from)) {
    out.emplace_back(
        Warn{"another evaluator has come: it waits in line until the present one is gone"});
    return;
  }
  out.emplace_back(Serve{from});
  if (end_) {
    out.emplace_back(MeasureLast{});
  }
}

void Admission::ask_evaluator(Time now, Effects& out) {
  const bool in_vain = end_ && end_->code != ExitCode::kDone;
  if (!evaluators_.ask() || in_vain) {
    return;
  }
  if (!options_.starts_evaluator) {
    if (!evaluators_.served()) {
      out.emplace_back(Warn{
          "a worker's script evaluates, and this server starts no evaluator: nothing is measured "
          "until there is one; run the script once more with OUTPACE_ROLE=evaluator, "
          "OUTPACE_SERVER=" +
          address_ + " and OUTPACE_TOKEN_FILE"});
    }
    return;
  }
  evaluators_.starts(now);
  expects_evaluator_ = expects_evaluator_ || (!end_ && !begun_);
  out.emplace_back(StartEvaluator{});
}

void Admission::lose_evaluator(const std::string& why, Effects& out) {
  out.emplace_back(EvaluatorLost{});
  const std::optional<ConnectionId> next = evaluators_.served();
  if (!next) {
    if (!end_) {
      out.emplace_back(
          Warn{"the evaluator is gone: " + why +
               (options_.needs_evaluator ? "; the run's target or policy waits for another one"
                                         : "; nothing is measured until another one comes")});
    }
    return;
  }
  out.emplace_back(Warn{"the evaluator is gone: " + why + "; the next one in line takes over"});
  out.emplace_back(Serve{*next});
  if (end_) {
    out.emplace_back(MeasureLast{});
  }
}

// ---- How connections end ----------------------------------------------------------------------

void Admission::goodbye(ConnectionId from, Effects& out) {
  const Peer peer = *roster_.find(from);
  roster_.send_away(from);  // Another may take its place.
  seats_.left(peer.worker);
  if (peer.joined) {
    out.emplace_back(Leave{.worker = peer.worker,
                           .incarnation = peer.incarnation,
                           .how = policy::Departure::kLeft,
                           .news = name(peer.worker) + " has left"});
  }
}

void Admission::closed(ConnectionId connection, const std::string& why, Effects& out) {
  if (const std::optional<Peer> peer = roster_.remove(connection)) {
    lose(*peer, connection, why, out);
  }
}

void Admission::hung_up(ConnectionId connection, Effects& out) {
  const Peer peer = *roster_.find(connection);
  roster_.send_away(connection);
  lose(peer, connection, "end of stream", out);
}

void Admission::lose(const Peer& peer,
                     ConnectionId connection,
                     const std::string& why,
                     Effects& out) {
  if (closed_) {
    return;
  }
  if (evaluators_.gone(connection)) {
    lose_evaluator(why, out);
  }
  if (peer.joined) {
    if (!end_) {
      out.emplace_back(Warn{name(peer.worker) + " is gone: " + why});
    }
    out.emplace_back(Leave{.worker = peer.worker,
                           .incarnation = peer.incarnation,
                           .how = policy::Departure::kDead,
                           .news = ""});
  }
  gone_.push_back(connection);
}

void Admission::refuse(ConnectionId connection, const protocol::Stop& stop, Effects& out) {
  roster_.send_away(connection);
  out.emplace_back(Refuse{connection, stop});
  // Every worker of a wrong program comes, and with --restart-workers again and again.
  if (stop.how == protocol::Farewell::kIncompatible &&
      stop.why != std::exchange(refused_, stop.why)) {
    out.emplace_back(Warn{"refused a connection: " + stop.why});
  }
}

void Admission::expel(ConnectionId worker, const protocol::Stop& stop, Effects& out) {
  const Peer peer = *roster_.find(worker);
  out.emplace_back(Warn{name(peer.worker) + " is sent away: " + stop.why});
  refuse(worker, stop, out);
  if (peer.joined) {
    out.emplace_back(Leave{.worker = peer.worker,
                           .incarnation = peer.incarnation,
                           .how = policy::Departure::kDead,
                           .news = ""});
  }
}

std::optional<Refuse> Admission::dismiss(WorkerId worker, const protocol::Stop& stop) {
  const std::optional<ConnectionId> connection = roster_.member(worker);
  if (!connection) {
    return std::nullopt;
  }
  roster_.send_away(*connection);
  return Refuse{*connection, stop};
}

}  // namespace outpace::admission
