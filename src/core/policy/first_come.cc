#include "policy/first_come.h"

#include "policy/lone_weight.h"

namespace outpace::policy {

void FirstCome::join(const WorkerJoined& event, Decision& out) {
  Worker& worker = workers_.join(event.worker);
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, worker, out);
}

void FirstCome::leave(const WorkerLeft& event, Decision& out) {
  workers_.leave(event.worker);
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  (void)commit_if_full(nominal_cutoff(workers_.live()), out);
}

void FirstCome::arrive(Time /*now*/, const GradientArrived& event, Decision& out) {
  const std::uint32_t cutoff = nominal_cutoff(workers_.live());
  Worker& worker = workers_[event.worker];
  const std::uint64_t staleness = version_ - worker.version;
  const double weight = cutoff == 1 ? lone_weight(event) : 1.0;
  out.actions.emplace_back(Accept{event.worker, event.release, weight});
  ++accepted_;
  if (!commit_if_full(cutoff, out)) {
    out.reason = {.why = Why::kWaiting,
                  .a = static_cast<double>(accepted_),
                  .b = static_cast<double>(cutoff)};
  }
  if (cutoff == 1) {
    out.reason = {.why = Why::kEachCounts, .a = static_cast<double>(staleness)};
  }
  release(event.worker, worker, out);  // After the commit, if there was one: the newest weights.
}

void FirstCome::end(Time /*now*/, const ReleaseEnded& event, Decision& out) {
  release(event.worker, workers_[event.worker], out);
}

void FirstCome::release(WorkerId id, Worker& worker, Decision& out) {
  worker.version = version_;
  out.actions.emplace_back(Release{id});
}

bool FirstCome::commit_if_full(std::uint32_t cutoff, Decision& out) {
  const bool nobody_comes = workers_.live() == 0;
  if (accepted_ == 0 || (!nobody_comes && accepted_ < cutoff)) {
    return false;
  }
  out.reason = {.why = Why::kCutoffReached,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(workers_.live())};
  out.actions.emplace_back(Commit{});
  ++version_;
  accepted_ = 0;
  return true;
}

}  // namespace outpace::policy
