#include "policy/by_event.h"

#include "base/overloaded.h"

namespace outpace::policy {

void ByEvent::decide(Time now, const Event& event, Decision& out) {
  out.clear();
  std::visit(Overloaded{[&](const WorkerJoined& joined) { join(joined, out); },
                        [&](const WorkerLeft& left) { leave(left, out); },
                        [&](const GradientArrived& gradient) { arrive(now, gradient, out); },
                        [&](const ReleaseEnded& ended) {
                          out.reason = {.why = why_ended(ended.how)};
                          end(now, ended, out);
                        },
                        [&](const Measured& measured) { hear(measured, out); },
                        Ignoring<TimerFired, PolicySet>{}},
             event);
}

}  // namespace outpace::policy
