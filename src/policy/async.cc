#include "policy/async.h"

#include "policy/lone_weight.h"

namespace outpace::policy {

void Async::decide(Time /*now*/, const Event& event, Decision& out) {
  out.clear();
  if (const auto* joined = std::get_if<WorkerJoined>(&event)) {
    workers_.join(joined->worker);
    out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
    release(joined->worker, out);
  } else if (const auto* left = std::get_if<WorkerLeft>(&event)) {
    workers_.leave(left->worker);
    out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  } else if (const auto* gradient = std::get_if<GradientArrived>(&event)) {
    arrive(*gradient, out);
  } else if (const auto* ended = std::get_if<ReleaseEnded>(&event)) {
    out.reason = {.why = ended->how == Ending::kRefused ? Why::kRefused : Why::kAbandoned};
    release(ended->worker, out);
  }
}

void Async::arrive(const GradientArrived& event, Decision& out) {
  const std::uint64_t staleness = version_ - workers_[event.worker].version;
  out.reason = {.why = Why::kEachCounts, .a = static_cast<double>(staleness)};
  out.actions.push_back(Accept{event.worker, event.release, lone_weight(event)});
  out.actions.push_back(Commit{});
  ++version_;
  release(event.worker, out);
}

void Async::release(WorkerId worker, Decision& out) {
  workers_[worker].version = version_;
  out.actions.push_back(Release{worker});
}

std::uint32_t Async::nominal_cutoff(std::uint32_t /*workers*/) const {
  return 1;
}

}  // namespace outpace::policy
