#include "policy/first_come.h"

#include "base/seeded_bug.h"
#include "policy/lone_weight.h"

namespace outpace::policy {

void FirstCome::join(const WorkerJoined& event, Decision& out) {
  workers_.join(event.worker);
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, out);
}

void FirstCome::leave(const WorkerLeft& event, Decision& out) {
  workers_.leave(event.worker);
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  commit_if_full(out);
}

void FirstCome::arrive(Time /*now*/, const GradientArrived& event, Decision& out) {
  const std::uint32_t cutoff = nominal_cutoff(workers_.live());
  const std::uint64_t staleness = version_ - workers_[event.worker].version;
  const double weight = cutoff == 1 ? lone_weight(event) : 1.0;
  out.actions.push_back(Accept{event.worker, event.release, weight});
  ++accepted_;
  out.reason = {
      .why = Why::kWaiting, .a = static_cast<double>(accepted_), .b = static_cast<double>(cutoff)};
  commit_if_full(out);
  if (cutoff == 1) {
    out.reason = {.why = Why::kEachCounts, .a = static_cast<double>(staleness)};
  }
  release(event.worker, out);  // After the commit, if there was one: the newest weights.
}

void FirstCome::end(Time /*now*/, const ReleaseEnded& event, Decision& out) {
  release(event.worker, out);
}

void FirstCome::release(WorkerId worker, Decision& out) {
  workers_[worker].version = version_;
  out.actions.push_back(Release{worker});
}

void FirstCome::commit_if_full(Decision& out) {
  const bool nobody_comes = workers_.live() == 0;
  const std::uint32_t more = SEEDED_BUG("cutoff_one_more") ? 1 : 0;
  if (accepted_ == 0 || (!nobody_comes && accepted_ < nominal_cutoff(workers_.live()) + more)) {
    return;
  }
  out.reason = {.why = Why::kCutoffReached,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(workers_.live())};
  out.actions.push_back(Commit{});
  ++version_;
  accepted_ = 0;
}

}  // namespace outpace::policy
