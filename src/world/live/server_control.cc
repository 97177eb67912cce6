// What people ask of a job that runs: another policy, and how it goes.
// Tested by test/program/switch_test.py (class Control).

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "live/server.h"
#include "policy/catalogue.h"
#include "policy/switch_spec.h"

namespace outpace::live {

void Server::set_policy(Time now, wire::ConnectionId from, const protocol::SetPolicy& set) {
  if (set.protocol != protocol::kProtocolVersion) {
    refuse(now, from, protocol::Farewell::kIncompatible, admission::wrong_protocol(set.protocol));
    return;
  }
  try {
    const Spec policy = Spec::parse(set.policy);
    if (const std::string why = why_not(policy); !why.empty()) {
      answer(from, ExitCode::kFailure, why);
      return;
    }
    phases_ = policy::phases_of(policy);
    set_policy_ = policy.text;
  } catch (const Error& error) {  // It stays the asker's.
    answer(from, error.code(), error.what());
    return;
  }
  asker_ = from;
  server::Effects effects;
  coordinator_->set_policy(now, set.policy, effects);
  carry_out(now, effects);
}

std::string Server::why_not(const Spec& policy) const {
  (void)policy::make_policy(
      policy, options_.coordinator.workers, {.fitted = options_.policy_inputs.fitted});
  if (admission_.end()) {
    return "the run is over: " + admission_.end()->why;
  }
  if (!begun()) {
    return "the run has not begun: it waits for its workers";
  }
  if (asker_) {
    return "the policy is changing to " + phases_.front().policy.text +
           " already; ask again when it has";
  }
  if (policy::waits_for_evaluator(policy) && !admission_.evaluator()) {
    return "'" + policy.text + "' waits for what an evaluator measures, and this run has none";
  }
  const std::optional<update::StalenessRule>& given = options_.coordinator.staleness;
  if (given && given->kind() != update::StalenessRule::Kind::kNone &&
      policy::weighs_staleness_itself(policy)) {
    return "'" + policy.text + "' weighs staleness itself, and this run has --staleness " +
           given->name() + "; only a run without it can change to it";
  }
  return "";
}

void Server::slow_down(Time now, wire::ConnectionId from, const protocol::SlowDown& slow) {
  if (slow.protocol != protocol::kProtocolVersion) {
    refuse(now, from, protocol::Farewell::kIncompatible, admission::wrong_protocol(slow.protocol));
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
  if (callbacks_.warned) {
    callbacks_.warned(news);
  }
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
  const server::Statistics& statistics = coordinator_->statistics();
  transport_->send(
      from,
      protocol::Status{
          .policy = policy_,
          .coming = asker_ ? phases_.front().policy.text : "",
          .version = coordinator_->version(),
          .live = coordinator_->live(),
          .workers = std::max(options_.coordinator.workers - options_.coordinator.later,
                              static_cast<std::uint32_t>(statistics.workers.size())),
          .staleness_mean = statistics.staleness_mean(),
          .training_loss = statistics.training_loss,
          .now = coordinator_->run_time(now),
          .stalled = fmt::format("{}", fmt::join(statistics.stalled(), ", ")),
          .staleness = coordinator_->staleness().name()},
      nullptr);
  transport_->close(from);
}

void Server::answer(wire::ConnectionId asker, ExitCode code, const std::string& text) {
  transport_->send(asker, protocol::Answer{code, text}, nullptr);
  transport_->close(asker);
}

void Server::policy_switched(const server::Switched& seam) {
  policy_ = phases_[seam.to].policy.text;
  const std::string news = "policy is now " + policy_ + " from version " +
                           std::to_string(count(seam.version)) + " on, staleness rule " +
                           seam.staleness;
  if (callbacks_.warned) {
    callbacks_.warned(news);
  }
  if (asker_) {
    answer(*std::exchange(asker_, std::nullopt), ExitCode::kDone, news);
  }
}

void Server::give_up_asked(const std::string& why) {
  if (asker_) {
    answer(*std::exchange(asker_, std::nullopt),
           ExitCode::kFailure,
           "the run ended before its policy changed: " + why);
  }
}

}  // namespace outpace::live
