// What people ask of a job that runs: another policy, and how it goes.
// Tested by test/program/switch_test.py (class Control).

#include <algorithm>

#include <fmt/format.h>

#include "live/server.h"
#include "policy/catalogue.h"
#include "policy/switch_spec.h"
#include "server/policy_rules.h"

namespace outpace::live {

void Server::set_policy(Time now, wire::ConnectionId from, const protocol::SetPolicy& set) {
  if (!guests_.commands(*transport_, from, set.protocol)) {
    return;
  }
  try {
    const Spec policy = Spec::parse(set.policy);
    if (const std::string why = why_not(policy); !why.empty()) {
      answer(from, ExitCode::kFailure, why);
      return;
    }
    policy_.ask(policy, from);
  } catch (const Error& error) {  // It stays the asker's.
    answer(from, error.code(), error.what());
    return;
  }
  to_coordinator(now, [&](auto& out) { coordinator_->set_policy(now, set.policy, out); });
}

std::string Server::why_not(const Spec& policy) const {
  (void)policy::make_policy(
      policy, options_.coordinator.workers, {.fitted = options_.policy_inputs.fitted});
  server::check_filter(options_.shard.filter,
                       policy,
                       {.first = options_.coordinator.workers - options_.coordinator.later,
                        .most = options_.coordinator.workers},
                       {.fitted = options_.policy_inputs.fitted},
                       options_.shard.staleness);
  if (admission_.end()) {
    return "the run is over: " + admission_.end()->why;
  }
  if (!begun()) {
    return "the run has not begun: it waits for its workers";
  }
  if (const std::string coming = policy_.coming(); !coming.empty()) {
    return "the policy is changing to " + coming + " already; ask again when it has";
  }
  if (policy::waits_for_evaluator(policy) && !admission_.evaluator()) {
    return "'" + policy.text + "' waits for what an evaluator measures, and this run has none";
  }
  const std::vector<policy::Phase> phases = policy::phases_of(policy);
  if (above_ && std::ranges::any_of(phases, [](const policy::Phase& phase) {
        return policy::is_asynchronous(phase.policy);
      })) {
    return "'" + policy.text +
           "' lets workers go on by themselves, and one gradient of a machine "
           "is of one version of the weights";
  }
  const std::optional<update::StalenessRule>& given = options_.coordinator.staleness;
  if (given && given->kind() != update::StalenessRule::Kind::kNone &&
      policy::weighs_staleness_itself(policy)) {
    return "'" + policy.text + "' weighs staleness itself, and this run has --staleness " +
           given->name() + "; only a run without it can change to it";
  }
  return "";
}

void Server::slow_down(wire::ConnectionId from, const protocol::SlowDown& slow) {
  if (!guests_.commands(*transport_, from, slow.protocol)) {
    return;
  }
  const auto connection = admission_.member(slow.worker);
  if (!connection) {
    answer(from, ExitCode::kFailure, name(slow.worker) + " takes no part at present");
    return;
  }
  transport_->send(*connection, slow, nullptr);
  const std::string news =
      fmt::format("{} takes {:g} times as long from now on, as asked by outpace ctl",
                  name(slow.worker),
                  slow.factor);
  warn(news);
  answer(from, ExitCode::kDone, news);
}

void Server::tell_status(Time now, wire::ConnectionId from, std::uint32_t protocol) {
  if (protocol != protocol::kProtocolVersion) {
    refuse(now, from, protocol::Farewell::kIncompatible, admission::wrong_protocol(protocol));
    return;
  }
  if (!begun()) {
    answer(from, ExitCode::kFailure, "the run has not begun: it waits for its workers");
    return;
  }
  transport_->send(from, status(now), nullptr);
  transport_->close(from);
}

protocol::Status Server::status(Time now) const {
  const server::Statistics& statistics = coordinator_->statistics();
  return {.policy = policy_.in_force(),
          .coming = policy_.coming(),
          .version = coordinator_->version(),
          .live = coordinator_->live(),
          .workers = std::max(options_.coordinator.workers - options_.coordinator.later,
                              static_cast<std::uint32_t>(statistics.workers.size())),
          .staleness_mean = statistics.staleness_mean(),
          .training_loss = statistics.training_loss,
          .now = coordinator_->run_time(now),
          .stalled = fmt::format("{}", fmt::join(statistics.stalled(), ", ")),
          .staleness = coordinator_->staleness().name()};
}

void Server::answer(wire::ConnectionId asker, ExitCode code, const std::string& text) {
  transport_->send(asker, protocol::Answer{code, text}, nullptr);
  transport_->close(asker);
}

void Server::policy_switched(const server::Switched& seam) {
  const std::string news = policy_.switched(seam);
  if (callbacks_.policy_changed) {
    callbacks_.policy_changed(news);
  }
  if (const auto asker = policy_.take_asker()) {
    answer(*asker, ExitCode::kDone, news);
  }
}

void Server::give_up_asked(const std::string& why) {
  if (const auto asker = policy_.take_asker()) {
    answer(*asker, ExitCode::kFailure, "the run ended before its policy changed: " + why);
  }
}

}  // namespace outpace::live
