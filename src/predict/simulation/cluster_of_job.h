// The cluster that a job of `outpace simulate` describes: how long its workers take, the links
// between them and the server, and what goes wrong. All throw a usage error that names option, file
// or distribution.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "job/simulate_job.h"
#include "job/work.h"
#include "sim/faults.h"
#include "sim/timing.h"
#include "sim/transfers.h"

namespace outpace::simulation {

[[nodiscard]] std::unique_ptr<sim::Timing> make_timing(const job::SimulateJob& job,
                                                       const job::ReadFile& read_file);

// Nothing if the options name no links. With learning the payload is 0: it is the network's.
// REQUIRES: check(job) passed.
[[nodiscard]] std::optional<sim::Transfers::Options> make_links(const job::SimulateJob& job,
                                                                const job::ReadFile& read_file);

// With those of the workers that only may join: they never come by themselves.
[[nodiscard]] std::vector<sim::Fault> make_faults(const job::SimulateJob& job);

}  // namespace outpace::simulation
