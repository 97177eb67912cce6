#include "policy/hand_ins.h"

#include <algorithm>

#include "base/overloaded.h"

namespace outpace::policy {

void HandIns::decide(Time now, const Event& event, Decision& out) {
  out.clear();
  hear(now, event);
  if (holds_) {
    collect(now, event, out);
  } else {
    decide_inside(now, event, out);
  }
}

void HandIns::hear(Time now, const Event& event) {
  std::visit(
      Overloaded{
          [&](const WorkerJoined& joined) {
            workers_.join(joined.worker);
            begun_ = workers_.live() == 1 ? now : begun_;
          },
          [&](const GradientArrived& gradient) { workers_[gradient.worker].computing = false; },
          [&](const ReleaseEnded& ended) { workers_[ended.worker].computing = false; },
          [&](const WorkerLeft& left) { leave(left); },
          [&](const TimerFired&) {
            if (!holds_) {
              wakes_.reset();
            }
          },
          Ignoring<Measured, PolicySet>{}},
      event);
}

// What the policy inside has not heard of yet does not concern it any more.
void HandIns::leave(const WorkerLeft& event) {
  asked_ -= workers_.leave(event.worker).asked ? 1U : 0U;
  std::erase_if(held_, [&](const Action& action) {
    const auto* release = std::get_if<Release>(&action);
    const auto* cancel = std::get_if<Cancel>(&action);
    return (release != nullptr && release->worker == event.worker) ||
           (cancel != nullptr && cancel->worker == event.worker);
  });
  std::erase_if(later_, [&](const Event& earlier) {
    const auto* ended = std::get_if<ReleaseEnded>(&earlier);
    return ended != nullptr && ended->worker == event.worker;
  });
}

void HandIns::decide_inside(Time now, const Event& event, Decision& out) {
  inside_->decide(now - held_for_, event, inside_decision_);
  pass_on(now, out);
}

void HandIns::pass_on(Time now, Decision& out) {
  const std::vector<Action>& actions = inside_decision_.actions;
  out.reason = inside_decision_.reason;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (std::holds_alternative<Commit>(actions[i]) && leaves_parts(i)) {
      return hold(now, i, out);
    }
    append(now, actions[i], out);
  }
}

bool HandIns::leaves_parts(std::size_t commit) {
  const std::vector<Action>& actions = inside_decision_.actions;
  return std::any_of(actions.begin() + static_cast<std::ptrdiff_t>(commit),
                     actions.end(),
                     [&](const Action& action) {
                       const auto* cancel = std::get_if<Cancel>(&action);
                       return cancel != nullptr && workers_[cancel->worker].computing &&
                              workers_[cancel->worker].version == version_;
                     });
}

void HandIns::hold(Time now, std::size_t commit, Decision& out) {
  holds_ = true;
  held_.clear();
  held_reason_ = out.reason;
  held_at_ = now;
  asked_ = came_ = 0;
  const std::vector<Action>& actions = inside_decision_.actions;
  for (std::size_t i = commit; i < actions.size(); ++i) {
    const auto* cancel = std::get_if<Cancel>(&actions[i]);
    if (cancel == nullptr || workers_[cancel->worker].version != version_) {
      held_.push_back(actions[i]);
      continue;
    }
    workers_[cancel->worker].asked = true;
    ++asked_;
    out.actions.push_back(Cancel{cancel->worker, /*keep_part=*/true});
  }
  const std::optional<double> worth = inside_->patience();
  patience_ends_ = now + std::min(now - begun_, worth ? from_seconds(*worth) : now - begun_);
  out.actions.push_back(WakeAt{patience_ends_});
}

void HandIns::append(Time now, const Action& action, Decision& out) {
  std::visit(Overloaded{[&](const Commit&) {
                          ++version_;
                          begun_ = now;
                        },
                        [&](const Release& release) {
                          workers_[release.worker] = {.computing = true, .version = version_};
                        },
                        Ignoring<Accept, Drop, Cancel, WakeAt, Switched>{}},
             action);
  if (const auto* wake = std::get_if<WakeAt>(&action)) {
    wakes_ = wake->time;
    out.actions.push_back(WakeAt{wake->time + held_for_});
  } else {
    out.actions.push_back(action);
  }
}

// ---- While a commit waits -----------------------------------------------------------------------

void HandIns::collect(Time now, const Event& event, Decision& out) {
  std::visit(Overloaded{[&](const GradientArrived& gradient) { take_gradient(now, gradient, out); },
                        [&](const ReleaseEnded& ended) {
                          asked_ -= std::exchange(workers_[ended.worker].asked, false) ? 1U : 0U;
                          later_.emplace_back(ended);
                          settle(now, out);
                        },
                        [&](const WorkerLeft& left) {
                          const bool joined = std::erase_if(later_, [&](const Event& earlier) {
                                                const auto* it =
                                                    std::get_if<WorkerJoined>(&earlier);
                                                return it != nullptr && it->worker == left.worker;
                                              }) > 0;
                          if (!joined) {
                            later_.emplace_back(left);
                          }
                          settle(now, out);
                        },
                        [&](const TimerFired&) {
                          if (now >= patience_ends_) {
                            end(now, out);
                          }
                        },
                        Ignoring<PolicySet>{},  // A Switch hears it, which is around this.
                        [&](const auto& other) { later_.emplace_back(other); }},
             event);
  if (holds_ && out.reason.why == Why::kNone) {
    out.reason = {.why = Why::kWaiting,
                  .a = static_cast<double>(came_),
                  .b = static_cast<double>(came_ + asked_)};
  }
}

void HandIns::take_gradient(Time now, const GradientArrived& event, Decision& out) {
  Worker& worker = workers_[event.worker];
  asked_ -= std::exchange(worker.asked, false) ? 1U : 0U;
  ReleaseEnded inside{event.worker, event.release, Ending::kAbandoned};
  if (worker.version == version_) {
    ++came_;
    out.actions.push_back(Accept{event.worker, event.release, 1.0});
    inside.runtime = event.runtime;
    inside.part = std::min(1.0, 1.0 * event.examples / event.nominal);
  } else {
    out.actions.push_back(Drop{event.worker, event.release, Why::kAfterCutoff});
  }
  later_.emplace_back(inside);
  settle(now, out);
}

void HandIns::settle(Time now, Decision& out) {
  if (asked_ == 0) {
    end(now, out);
  }
}

void HandIns::end(Time now, Decision& out) {
  holds_ = false;
  held_for_ += now - held_at_;
  inside_->held(now - held_at_);
  asked_ = 0;
  workers_.for_each([](WorkerId /*worker*/, Worker& worker) { worker.asked = false; });
  const std::optional<Time> wakes = std::exchange(wakes_, std::nullopt);
  for (const Action& action : held_) {
    append(now, action, out);
  }
  if (wakes && !wakes_) {  // The timer that was waited by was ours.
    append(now, WakeAt{*wakes}, out);
  }
  const Reason reason = held_reason_;
  hearing_.swap(later_);
  for (const Event& event : hearing_) {
    if (holds_) {
      later_.push_back(event);
    } else {
      decide_inside(now, event, out);
    }
  }
  hearing_.clear();
  out.reason = reason;
}

}  // namespace outpace::policy
