#include "record/recent_decisions.h"

#include <utility>
#include <variant>

#include "base/overloaded.h"

namespace outpace::record {

void RecentDecisions::add(Time now,
                          const policy::Event& event,
                          const ChromeTrace::Decided& decided) {
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
  if (std::holds_alternative<policy::PolicySet>(event)) {
    last_.decided.back().event = policy::PolicySet{};  // Its text does not outlive this call.
  }
  follow(now, event, decided.actions);
}

void RecentDecisions::follow(Time now,
                             const policy::Event& event,
                             std::span<const policy::Action> actions) {
  now_.now = now;
  std::visit(
      Overloaded{
          [&](const policy::WorkerJoined& joined) { worker(joined.worker) = {.live = true}; },
          [&](const policy::WorkerLeft& left) { worker(left.worker) = {}; },
          [&](const policy::GradientArrived& arrived) {
            worker(arrived.worker).task.open = false;
            for (const policy::Action& action : actions) {
              if (std::holds_alternative<policy::Accept>(action)) {
                now_.accepted.push_back(arrived.release);
              }
            }
          },
          [&](const policy::ReleaseEnded& ended) { worker(ended.worker).task.open = false; },
          Ignoring<policy::TimerFired, policy::Measured, policy::PolicySet>{}},
      event);
  for (const policy::Action& action : actions) {
    if (std::holds_alternative<policy::Commit>(action)) {
      now_.version = Version{count(now_.version) + 1};
      now_.accepted.clear();
    } else if (const auto* released = std::get_if<policy::Release>(&action)) {
      worker(released->worker).task = {.open = true, .begun = now, .version = now_.version};
    }
  }
}

ChromeTrace::Underway::Worker& RecentDecisions::worker(WorkerId id) {
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

std::string trace_of(const RecentDecisions::Parts& parts, const std::string& policy) {
  ChromeTrace trace(parts.empty() ? ChromeTrace::Underway{} : parts.front()->begin, policy);
  for (const auto& part : parts) {
    std::size_t first = 0;
    for (const RecentDecisions::Part::One& one : part->decided) {
      const std::span<const policy::Action> all(part->actions);
      trace.tell(one.now,
                 one.event,
                 {.actions = all.subspan(first, one.actions_end - first),
                  .reason = one.reason,
                  .words = one.words});
      first = one.actions_end;
    }
  }
  trace.close();
  return trace.text();
}

}  // namespace outpace::record
