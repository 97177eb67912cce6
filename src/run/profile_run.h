// Measures one worker and one server, in a job of their own in this process.

#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "collective/sum_cost.h"
#include "job/profile_job.h"
#include "run/learner.h"
#include "throughput/measured_profile.h"

namespace outpace::run {

struct MeasuredWorker {
  throughput::MeasuredProfile profile;
  std::string events;  // Of a Chrome trace.
};

// As collective::measure_sum_cost(), which needs Gloo.
using MeasureSums = std::function<collective::SumCost(
    const std::string& rendezvous, std::size_t numbers, std::size_t repeats)>;

// Throws Error if the job fails, and a usage error for a wrong option. REQUIRES: check() of the job
// passed.
[[nodiscard]] MeasuredWorker measure_worker(const job::ProfileJob& job,
                                            const Learner& learner,
                                            const MeasureSums& measure_sums);

}  // namespace outpace::run
