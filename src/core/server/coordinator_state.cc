// The coordinator's state, as a checkpoint keeps it.
// Tested by src/core/server/coordinator_state_test.cc.

#include <algorithm>

#include "base/check.h"
#include "server/coordinator.h"

namespace outpace::server {

void Coordinator::keep(Time now, Archive& archive) {
  CHECK(events_.empty() && (!archive.reads() || (live_ == 0 && !started())));
  protocol::Ranges out = accepted_ranges_;
  for (const Member& member : members_) {
    out.insert(out.end(), member.ranges.begin(), member.ranges.end());
    for (const protocol::Ranges& later : member.ahead) {
      out.insert(out.end(), later.begin(), later.end());
    }
  }
  std::uint64_t iterations = iterations_ - accepted_.size();
  std::uint32_t live = live_;
  Duration run_before = started() ? now - *started_ : run_before_;
  archive("version", version_)("sequences", sequences_)("iterations", iterations);
  archive("run_before", run_before)("live", live);
  archive("next_snapshot", next_snapshot_);
  archive("nominal_examples", rate_.nominal_examples)("rules", rules_);
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
}

}  // namespace outpace::server
