// A machine's server: its workers compute what a server above has released to the machine, and hand
// in one gradient (docs/two-levels.md).
// Tested by test/program/two_levels_test.py.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/overloaded.h"
#include "live/server.h"
#include "server/initial_weights.h"

namespace outpace::live {
namespace {

Offer offer_of(const protocol::Hello& worker, std::uint32_t workers) {
  return {.manifest = worker.manifest,
          .dataset_examples = worker.dataset_examples,
          .script = worker.script,
          .wants_evaluator = worker.wants_evaluator,
          .stands_for = workers};
}

}  // namespace

void Server::hear_above(Time now, Above::News news) {
  std::visit(
      Overloaded{[&](const Above::Welcomed& welcomed) { welcomed_above(now, welcomed.welcome); },
                 [&](const Above::NeedsWeights&) {
                   asks_for_weights_ = true;
                   asked_for_weights_.reset();
                 },
                 [&](Above::CameConstants& came) {
                   constants_ = std::move(came.constants);
                   tell_constants();
                 },
                 [&](Above::Released& released) { released_above(now, std::move(released)); },
                 [&](const Above::Closing& closing) { closing_above(now, closing.keep_part); },
                 [&](const Above::Judged& judged) { judged_above(judged.verdict); },
                 [&](const Above::Over& over) {
                   stop_asked(now, {over.code, over.why});
                   for (const auto& [connection, worker] : std::exchange(waiting_, {})) {
                     greet(now, connection, worker);
                   }
                 }},
      news);
}

// ---- Who is here --------------------------------------------------------------------------------

bool Server::wait_for_above(wire::ConnectionId from, const protocol::Hello& worker) {
  if (admission_.end() || worker.protocol != protocol::kProtocolVersion) {
    return false;
  }
  if (!offered_) {
    offered_ = worker;
    above_->greet(offer_of(worker, options_.coordinator.workers));
  }
  if (!welcome_) {
    waiting_[from] = worker;
  }
  return !welcome_.has_value();
}

void Server::welcomed_above(Time now, const protocol::Welcome& welcome) {
  if (welcome_) {
    if (welcome_->job != welcome.job || welcome_->seed != welcome.seed) {
      stop_asked(now,
                 {ExitCode::kFailure, "the server above runs another job; start this one again"});
    }
    return;
  }
  welcome_ = welcome;
  options_.coordinator.job = welcome.job;
  options_.coordinator.generation = welcome.generation;
  options_.coordinator.seed = welcome.seed;
  options_.coordinator.with_replacement = welcome.with_replacement;
  for (const auto& [connection, worker] : std::exchange(waiting_, {})) {
    greet(now, connection, worker);
  }
}

void Server::ask_for_weights() {
  for (std::uint32_t rank = 0; rank < options_.coordinator.workers; ++rank) {
    const auto member = admission_.member(WorkerId{rank});
    if (member) {
      asked_for_weights_ = member;
      protocol::Welcome asking = *welcome_;
      asking.needs_weights = true;
      asking.incarnation = admission_.find(*member)->incarnation;
      asking.compress = options_.compress.name();
      asking.above = true;
      transport_->send(*member, asking, nullptr);
      return;
    }
  }
}

void Server::bring_above(wire::ConnectionId from, std::vector<float> weights) {
  Brought brought = std::exchange(brought_[from], {});
  if (!wants_weights()) {
    return;  // Another worker was asked, too, and was faster.
  }
  const auto& script = admission_.terms().script;
  std::string why =
      server::why_unfit(*admission_.terms().network, weights, script.value_or(protocol::Script{}));
  if (why.empty() && !brought.complete()) {
    why = "constants are missing";
  }
  if (!why.empty()) {
    expel(now(), from, "initial weights: " + why, protocol::Farewell::kIncompatible);
    return;
  }
  asks_for_weights_ = false;
  constants_ = brought.take_constants();
  tell_constants();
  BroughtWeights bringing{.weights = std::move(weights), .constants = constants_};
  for (auto& [tensor, state] : brought.take_states()) {
    for (update::BroughtPart& part : state.parts) {
      bringing.state.push_back(
          {.of = {.tensor = tensor, .updates = state.updates, .part = std::move(part.name)},
           .numbers = std::move(part.numbers)});
    }
  }
  above_->bring(std::move(bringing));
}

// ---- A release of the server above --------------------------------------------------------------

void Server::released_above(Time /*now*/, Above::Released released) {
  if (shard_) {
    shard_->replace(std::move(released.weights));
  } else {
    const auto& script = admission_.terms().script;
    shard_.emplace(shard_options(script.value_or(protocol::Script{})),
                   std::move(released.weights),
                   offered_->manifest.sizes());
  }
  released_ = std::move(released);
}

void Server::look_above(Time now) {
  if (admission_.end()) {
    return;
  }
  const auto live = coordinator_ ? coordinator_->live() : 0U;
  above_->set_here(std::max(live, static_cast<std::uint32_t>(waiting_.size())));
  if (asks_for_weights_ && !asked_for_weights_) {
    ask_for_weights();
  }
  if (fed_ && (!coordinator_ || coordinator_->feed_is_dry())) {
    above_->give_up(fed_->number,
                    fed_->left_out == fed_->examples ? fed_->why : protocol::GivenUp::kUnwanted);
    closing_above(now, /*keep_part=*/false);
  }
  if (!released_ || !begun() || live == 0) {
    return;
  }
  const Above::Released released = *std::exchange(released_, std::nullopt);
  for (std::uint32_t rank = 0; rank < options_.coordinator.workers && !constants_.empty(); ++rank) {
    const auto member = admission_.member(WorkerId{rank});
    if (member && has_constants_.insert(*member).second) {
      send_constants(*member);
    }
  }
  fed_ = {.number = released.number,
          .examples = server::total_size(released.release.ranges),
          .at = now};
  to_coordinator(now, [&](auto& out) {
    coordinator_->feed(now,
                       {.version = released.release.version,
                        .nominal = released.release.nominal,
                        .may_keep_part = released.release.may_keep_part,
                        .ranges = released.release.ranges},
                       out);
  });
}

void Server::closing_above(Time now, bool keep_part) {
  if (released_ && keep_part) {  // Nobody has begun it.
    above_->give_up(released_->number, protocol::GivenUp::kUnwanted);
  }
  released_.reset();
  if (!keep_part) {
    fed_.reset();
    if (shard_) {
      shard_->discard();
    }
  }
  if (coordinator_) {
    to_coordinator(now, [&](auto& out) { coordinator_->close_feed(now, keep_part, out); });
  }
  if (!keep_part) {
    judged_above(std::nullopt);
  }
}

// ---- What is handed in --------------------------------------------------------------------------

void Server::note_left_out(const server::LeaveOut& left_out) {
  if (fed_) {
    fed_->left_out += server::total_size(left_out.ranges);
    fed_->why = left_out.why.empty() ? protocol::GivenUp::kLeaveOut : protocol::GivenUp::kFailed;
  }
}

void Server::hand_in(Time now, const server::HandIn& handed) {
  const auto fed = std::exchange(fed_, std::nullopt);
  if (!fed || handed.examples == 0) {
    shard_->discard();
    if (fed) {
      above_->give_up(fed->number, protocol::GivenUp::kUnwanted);
    }
    judged_above(std::nullopt);
    return;
  }
  server::Shard::HandedIn gradient = shard_->hand_in();
  above_->hand_in(fed->number,
                  {.examples = handed.examples,
                   .partial = handed.examples < fed->examples,
                   .loss = handed.loss,
                   .compute_seconds = to_seconds(now - fed->at),
                   .without = std::move(gradient.without),
                   .covers = handed.covers,
                   .stands_for = std::max(1U, coordinator_->live())},
                  std::move(gradient.gradient));
}

bool Server::hold_verdict(wire::ConnectionId to, const server::Send& send) {
  const auto* verdict = std::get_if<protocol::Verdict>(&send.message);
  if (verdict == nullptr || verdict->outcome != protocol::Outcome::kAccepted) {
    return false;
  }
  held_.emplace_back(to, *verdict);
  return true;
}

void Server::judged_above(const std::optional<protocol::Verdict>& verdict) {
  for (auto& [connection, held] : std::exchange(held_, {})) {
    if (!verdict) {
      held.outcome = protocol::Outcome::kDropped;
      held.why = "the server above has not taken this machine's gradient";
    } else if (verdict->outcome != protocol::Outcome::kAccepted) {
      held.outcome = verdict->outcome;
      held.why = "of this machine's gradient: " + verdict->why.value_or("");
    }
    transport_->send(connection, held, nullptr);
  }
}

}  // namespace outpace::live
