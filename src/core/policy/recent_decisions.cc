#include "policy/recent_decisions.h"

#include <utility>
#include <variant>

#include "base/overloaded.h"

namespace outpace::policy {

void RecentDecisions::add(Time now, const Event& event, const Decided& decided) {
  if (last_.decided.size() >= kPart) {
    whole_.push_back(std::make_shared<const Part>(std::move(last_)));
    if (whole_.size() >= kMost / kPart) {
      whole_.erase(whole_.begin());
    }
    last_ = {};
  }
  if (last_.decided.empty()) {
    last_.begin = now_;
  }
  last_.actions.insert(last_.actions.end(), decided.actions.begin(), decided.actions.end());
  last_.decided.push_back({.now = now,
                           .event = event,
                           .reason = decided.reason,
                           .words = std::string(decided.words),
                           .actions_end = last_.actions.size()});
  if (std::holds_alternative<PolicySet>(event)) {
    last_.decided.back().event = PolicySet{};  // Its text does not outlive this call.
  }
  follow(now, event, decided.actions);
}

void RecentDecisions::follow(Time now, const Event& event, std::span<const Action> actions) {
  now_.now = now;
  std::visit(Overloaded{[&](const WorkerJoined& joined) { worker(joined.worker) = {.live = true}; },
                        [&](const WorkerLeft& left) { worker(left.worker) = {}; },
                        [&](const GradientArrived& arrived) {
                          worker(arrived.worker).task.open = false;
                          for (const Action& action : actions) {
                            if (std::holds_alternative<Accept>(action)) {
                              now_.accepted.push_back(arrived.release);
                            }
                          }
                        },
                        [&](const ReleaseEnded& ended) { worker(ended.worker).task.open = false; },
                        Ignoring<TimerFired, Measured, PolicySet>{}},
             event);
  for (const Action& action : actions) {
    if (std::holds_alternative<Commit>(action)) {
      now_.version = Version{count(now_.version) + 1};
      now_.accepted.clear();
    } else if (const auto* released = std::get_if<Release>(&action)) {
      worker(released->worker).task = {.open = true, .begun = now, .version = now_.version};
    }
  }
}

Underway::Worker& RecentDecisions::worker(WorkerId id) {
  if (now_.workers.size() <= index(id)) {
    now_.workers.resize(index(id) + 1);
  }
  return now_.workers[index(id)];
}

RecentDecisions::Parts RecentDecisions::keep() const {
  Parts parts = whole_;
  if (!last_.decided.empty()) {
    parts.push_back(std::make_shared<const Part>(last_));
  }
  return parts;
}

}  // namespace outpace::policy
