// What `outpace predict` does with a calibrated profile and a table of configurations.

#pragma once

#include <string>

#include "throughput/profile.h"

namespace outpace::cli {

// Prints a prediction for each row of the table at `path`, as JSON or for people.
int predict_table(const throughput::CalibratedProfile& profile, const std::string& path, bool json);

}  // namespace outpace::cli
