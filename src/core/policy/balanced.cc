#include "policy/balanced.h"

#include <algorithm>
#include <cmath>

#include "base/overloaded.h"

namespace outpace::policy {

void Balanced::decide(Time now, const Event& event, Decision& out) {
  if (const auto* gradient = std::get_if<GradientArrived>(&event)) {
    return arrive(now, *gradient, out);
  }
  std::visit(Overloaded{[&](const WorkerJoined& joined) {
                          workers_.join(joined.worker);
                          balance_.join(joined.worker);
                        },
                        [&](const WorkerLeft& left) {
                          workers_.leave(left.worker);
                          balance_.leave(left.worker);
                        },
                        [&](const ReleaseEnded& ended) { end(now, ended); },
                        Ignoring<GradientArrived, TimerFired, Measured, PolicySet>{}},
             event);
  inside_->decide(now, event, out);
  adjust(now, out);
}

void Balanced::arrive(Time now, const GradientArrived& event, Decision& out) {
  nominal_ = event.nominal;
  balance_.answered(event.worker, event.examples, event.nominal, event.runtime);
  GradientArrived inside = event;
  if (const std::uint32_t size = workers_[event.worker].size; size > 0) {
    inside.nominal = size;
  }
  inside_->decide(now, inside, out);
  adjust(now, out);
}

void Balanced::end(Time now, const ReleaseEnded& event) {
  if (is_turned_away(event.how) || nominal_ == 0) {
    return balance_.ended(event.worker);
  }
  const Worker& state = workers_[event.worker];
  const double full = state.size > 0 ? state.size : nominal_;
  const auto examples = static_cast<std::uint32_t>(std::max(1.0, std::round(state.share * full)));
  balance_.stopped(event.worker, examples, now - state.released);
}

void Balanced::adjust(Time now, Decision& out) {
  Accept* lone = nullptr;
  for (Action& action : out.actions) {
    std::visit(Overloaded{[&](Accept& accept) {
                            lone = accepted_ == 0 ? &accept : nullptr;
                            ++accepted_;
                          },
                          [&](Commit&) {
                            if (lone != nullptr) {
                              lone->weight *= share(lone->worker);
                            }
                            accepted_ = 0;
                            balance_.updated();
                          },
                          [&](Release& release) {
                            workers_[release.worker] = {
                                .released = now,
                                .size = on_ ? balance_.size(release.worker) : 0,
                                .share = release.share};
                            release.share *= share(release.worker);
                          },
                          [&](const Switched&) { on_ = on_from_seam_; },
                          Ignoring<Drop, Cancel, WakeAt>{}},
               action);
  }
}

double Balanced::share(WorkerId worker) {
  const std::uint32_t size = workers_[worker].size;
  return size > 0 ? static_cast<double>(size) / nominal_ : 1.0;
}

}  // namespace outpace::policy
