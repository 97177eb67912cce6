// The coordinator's state, as a checkpoint keeps it.
// Tested by src/server/coordinator_state_test.cc.

#include <algorithm>

#include "base/check.h"
#include "server/coordinator.h"

namespace outpace::server {

void Coordinator::keep(Time now, Archive& archive) {
  CHECK(events_.empty() && (!archive.reads() || (live_ == 0 && !started())));
  protocol::Ranges out = accepted_ranges_;
  std::vector<std::uint32_t> incarnations;
  for (const Member& member : members_) {
    out.insert(out.end(), member.ranges.begin(), member.ranges.end());
    incarnations.push_back(member.incarnation);
  }
  std::uint64_t iterations = iterations_ - accepted_.size();
  std::uint32_t live = live_;
  Duration run_before = started() ? now - *started_ : run_before_;
  archive("version", version_)("sequences", sequences_)("iterations", iterations);
  archive("run_before", run_before)("live", live)("incarnations", incarnations);
  archive("next_snapshot", next_snapshot_);
  archive.group("leases", [&] { leases_.keep(archive, out); });
  archive("statistics", statistics_)("noise", noise_);
  archive.group("policy", [&] { policy_->keep(archive); });
  if (!archive.reads()) {
    return;
  }
  iterations_ = iterations;
  run_before_ = run_before;
  last_checkpoint_ = count(version_);
  awaited_ = std::clamp(live, options_.min_workers, options_.workers);
  resumed_ = true;
  start_patience_ = options_.resume_patience;
  if (incarnations.size() > options_.workers) {
    incarnations.resize(options_.workers);
  }
  members_.resize(incarnations.size());
  for (std::size_t at = 0; at < incarnations.size(); ++at) {
    members_[at].incarnation = incarnations[at];
  }
}

}  // namespace outpace::server
