// Carries out what the admission decides: who is welcome, joins or is sent away.
// Tested by src/world/live/server_test.cc.

#include <utility>

#include "admission/driver.h"
#include "base/check.h"
#include "base/overloaded.h"
#include "live/server.h"
#include "policy/catalogue.h"

namespace outpace::live {
namespace {

// `accepted`: admission::Accept, or Welcome, which says it again.
template <typename Accepted>
protocol::Welcome welcome(const ServerOptions& options, const Accepted& accepted) {
  const server::CoordinatorOptions& job = options.coordinator;
  const std::optional<server::LocalSteps>& local = job.local_steps;
  return {.job = job.job,
          .generation = job.generation,
          .needs_weights = accepted.needs_weights,
          .heartbeat = job.heartbeat_timeout / 5,
          .seed = job.seed,
          .with_replacement = job.with_replacement,
          .incarnation = accepted.incarnation,
          .inner_optimizer = local ? local->optimizer : "",
          .inner_weight_decay = local ? local->weight_decay : 0.0,
          .compress = options.compress.name(),
          .above = options.above.has_value()};
}

}  // namespace

void Server::greet(Time now, wire::ConnectionId from, const protocol::Hello& said) {
  const auto proved = transport_->proved(from);
  if (!proved) {
    return;  // It has gone.
  }
  const std::string why = admission_.why_other_number(Keyring::text_of(*proved), said.worker);
  if (!why.empty()) {
    refuse(now, from, protocol::Farewell::kFenced, why);
    return;
  }
  protocol::Hello worker = said;
  if (above_ && !over_) {
    if (wait_for_above(from, said)) {
      return;
    }
    worker.seen_job = 0;  // What it has reached, the server above knows.
    if (std::exchange(worker.wants_evaluator, false)) {
      above_->ask_for_evaluator();
    }
  }
  const auto held = admission_.in_the_way(now, worker);
  if (held && transport_->hung_up(*held)) {  // A process that follows another at once.
    transport_->close(*held);
    brought_.erase(*held);
    to_admission(now, [&](auto& out) { admission_.hung_up(*held, out); });
  }
  to_admission(now, [&](auto& out) { admission_.hello(now, from, worker, version(), out); });
}

void Server::observe(Time now, wire::ConnectionId from, const protocol::Observe& evaluator) {
  to_admission(now, [&](auto& out) { admission_.observe(from, evaluator, out); });
}

void Server::admit(Time now, admission::Effects effects) {
  admission::carry_out(
      admission_,
      now,
      effects,
      Overloaded{[&](const admission::Accept& accepted) {
                   transport_->authorise(accepted.peer, admission_.terms().network->numbers());
                   protocol::Welcome said = welcome(options_, accepted);
                   said.counted =
                       coordinator_ && coordinator_->counted(accepted.worker, accepted.unanswered);
                   transport_->send(accepted.peer, said, nullptr);
                 },
                 [&](const admission::Welcome& again) {
                   transport_->send(again.peer, welcome(options_, again), nullptr);
                 },
                 [&](const admission::Refuse& refused) { refuse(refused); },
                 [&](const admission::HangUp& ended) { transport_->close(ended.peer); },
                 [&](const admission::Open&) { make_coordinator(now); },
                 [&](const admission::Reset&) { coordinator_.reset(); },
                 [&](const admission::Join& joining) { join(now, joining); },
                 [&](const admission::Leave& leaving) { leave(now, leaving); },
                 [&](const admission::ScriptChanged& script) { script_changed(script.groups); },
                 [&](const admission::ForgetWeights&) {
                   shard_.reset();
                   constants_.clear();
                 },
                 Ignoring<admission::Serve>{},  // It is sent the next snapshot.
                 [&](const admission::EvaluatorLost&) { evaluations_.lost(); },
                 [&](const admission::MeasureLast&) { send_last_snapshot(); },
                 [&](const admission::StartEvaluator&) {
                   if (callbacks_.wants_evaluator) {
                     callbacks_.wants_evaluator();
                   }
                 },
                 [&](const admission::Warn& warning) { warn(warning.text); },
                 [&](const admission::Awaits& awaits) {
                   if (callbacks_.awaits) {
                     callbacks_.awaits(awaits.text);
                   }
                 },
                 Ignoring<admission::End>{}});  // run() looks for the end.
}

void Server::refuse(const admission::Refuse& refused) {
  transport_->send(refused.peer, refused.stop, nullptr);
  transport_->close(refused.peer);
}

void Server::refuse(Time now,
                    wire::ConnectionId peer,
                    protocol::Farewell how,
                    const std::string& why) {
  to_admission(now, [&](auto& out) { admission_.refuse(peer, {how, why}, out); });
}

void Server::expel(Time now,
                   wire::ConnectionId from,
                   const std::string& why,
                   protocol::Farewell how) {
  to_admission(now, [&](auto& out) { admission_.expel(from, {how, why}, out); });
}

void Server::ask_for_evaluator(Time now) {
  if (above_) {
    return above_->ask_for_evaluator();
  }
  to_admission(now, [&](auto& out) { admission_.ask_evaluator(now, out); });
}

void Server::make_coordinator(Time now) {
  coordinator_.emplace(coordinator_options(admission_.terms()),
                       policy::make_settable_policy(
                           options_.policy, options_.coordinator.workers, options_.policy_inputs),
                       callbacks_.decided,
                       now);
}

void Server::join(Time now, const admission::Join& join) {
  server::Effects effects;
  for (const admission::Join::Worker& worker : join.workers) {
    if (!worker.has_constants) {
      send_constants(worker.peer);
      if (above_ && !constants_.empty()) {
        has_constants_.insert(worker.peer);
      }
    }
    const bool joined = coordinator_->join(now, worker.newcomer, effects);
    CHECK(joined);  // Each greeting gives a newer incarnation.
  }
  carry_out(now, effects);
}

void Server::leave(Time now, const admission::Leave& leave) {
  server::Effects effects;
  coordinator_->leave(now, leave.worker, leave.incarnation, leave.how, effects);
  if (!leave.news.empty() && !coordinator_->finished()) {
    warn(leave.news);
  }
  carry_out(now, effects);
}

}  // namespace outpace::live
