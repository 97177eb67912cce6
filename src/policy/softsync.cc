#include "policy/softsync.h"

#include <algorithm>

#include "base/check.h"
#include "base/seeded_bug.h"
#include "policy/lone_weight.h"

namespace outpace::policy {

Softsync::Softsync(Options options) : options_(options) {
  CHECK(options_.splits >= 1);
}

void Softsync::decide(Time /*now*/, const Event& event, Decision& out) {
  out.clear();
  if (const auto* joined = std::get_if<WorkerJoined>(&event)) {
    workers_.join(joined->worker);
    out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
    release(joined->worker, out);
  } else if (const auto* left = std::get_if<WorkerLeft>(&event)) {
    workers_.leave(left->worker);
    out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
    commit_if_full(out);
  } else if (const auto* gradient = std::get_if<GradientArrived>(&event)) {
    arrive(*gradient, out);
  } else if (const auto* ended = std::get_if<ReleaseEnded>(&event)) {
    out.reason = {.why = ended->how == Ending::kRefused ? Why::kRefused : Why::kAbandoned};
    release(ended->worker, out);
  }
}

void Softsync::arrive(const GradientArrived& event, Decision& out) {
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

void Softsync::release(WorkerId worker, Decision& out) {
  workers_[worker].version = version_;
  out.actions.push_back(Release{worker});
}

void Softsync::commit_if_full(Decision& out) {
  const std::uint32_t more = SEEDED_BUG("cutoff_one_more") ? 1 : 0;
  if (accepted_ == 0 || accepted_ < nominal_cutoff(workers_.live()) + more) {
    return;
  }
  out.reason = {.why = Why::kCutoffReached,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(workers_.live())};
  out.actions.push_back(Commit{});
  ++version_;
  accepted_ = 0;
}

std::uint32_t Softsync::nominal_cutoff(std::uint32_t workers) const {
  return std::max(1U, workers / options_.splits);
}

}  // namespace outpace::policy
