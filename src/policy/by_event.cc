#include "policy/by_event.h"

namespace outpace::policy {

void ByEvent::decide(Time now, const Event& event, Decision& out) {
  out.clear();
  if (const auto* gradient = std::get_if<GradientArrived>(&event)) {
    arrive(now, *gradient, out);
  } else if (const auto* ended = std::get_if<ReleaseEnded>(&event)) {
    out.reason = {.why = why_ended(ended->how)};
    end(now, *ended, out);
  } else if (const auto* joined = std::get_if<WorkerJoined>(&event)) {
    join(*joined, out);
  } else if (const auto* left = std::get_if<WorkerLeft>(&event)) {
    leave(*left, out);
  } else if (const auto* measured = std::get_if<Measured>(&event)) {
    hear(*measured, out);
  }
}

}  // namespace outpace::policy
