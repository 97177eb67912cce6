// The clusters that `outpace plan` chooses from, predicted from a profile.

#pragma once

#include <cstddef>

#include "job/plan_job.h"
#include "job/work.h"
#include "throughput/measured_profile.h"
#include "throughput/plan_row.h"
#include "throughput/profile.h"

namespace outpace::throughput {

inline constexpr std::size_t kPlanChoicesMost = 100'000;

// All combinations of the job's options, by the coarse model; verify() takes the fine one. Profile
// and job outlive the choices. Throws a usage error that names the option, also if nothing is left
// to choose from. REQUIRES: check() of the job passed.
[[nodiscard]] PlanChoices choices_of_measured(const MeasuredProfile& profile,
                                              const job::PlanJob& job,
                                              const job::ReadFile& read_file);

// The policies and topologies that were calibrated, or those of them that the job asks for.
[[nodiscard]] PlanChoices choices_of_calibrated(const CalibratedProfile& profile,
                                                const job::PlanJob& job);

}  // namespace outpace::throughput
