// The clusters that `outpace plan` chooses from, by what a profile says of them.

#pragma once

#include "cli/plan_options.h"
#include "cli/plan_row.h"
#include "throughput/measured_profile.h"
#include "throughput/profile.h"

namespace outpace::cli {

// All combinations of the options, by the coarse model; a row is verified by the fine one, where
// there is one. Both belong to the caller, and are of use as long as the choices are. Throws a
// usage error that names the option, also if there is nothing to choose from.
[[nodiscard]] PlanChoices choices_of_measured(const throughput::MeasuredProfile& profile,
                                              const PlanOptions& options);

// The policies and topologies that were calibrated, or those of the options that were.
[[nodiscard]] PlanChoices choices_of_calibrated(const throughput::CalibratedProfile& profile,
                                                const PlanOptions& options);

}  // namespace outpace::cli
