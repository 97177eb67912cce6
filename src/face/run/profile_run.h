// Measures one worker and one server, in a job of their own in this process; profile_script.h has
// the worker of a user's program.

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "collective/peer_cost.h"
#include "job/profile_job.h"
#include "run/learner.h"
#include "throughput/measured_profile.h"
#include "throughput/pass_marks.h"

namespace outpace::run {

struct MeasuredWorker {
  throughput::MeasuredProfile profile;
  std::string events;  // The events of a Chrome trace.
};

// As collective::measure_peer_cost(), which needs Gloo. Empty: nobody measures it.
using MeasurePeers = std::function<collective::PeerCost(std::size_t numbers, std::size_t repeats)>;

// The first iterations find no memory and no code in place.
inline constexpr std::size_t kWarmUp = 5;

// A profile that has its network and data, with what `passes` say (without those of the warm-up;
// `needs`: as NotedPasses has them), and with the costs of server and messages, measured here.
[[nodiscard]] MeasuredWorker profile_of(const job::ProfileJob& job,
                                        throughput::MeasuredProfile profile,
                                        std::span<const throughput::PassMarks> passes,
                                        const std::vector<std::size_t>& needs,
                                        const MeasurePeers& measure_peers);

// Throws Error if the job fails, and a usage error for a wrong option. REQUIRES: check() of the job
// passed.
[[nodiscard]] MeasuredWorker measure_worker(const job::ProfileJob& job,
                                            const Learner& learner,
                                            const MeasurePeers& measure_peers);

}  // namespace outpace::run
