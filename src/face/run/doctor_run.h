// `outpace doctor`: looks at this machine, at what a script needs, and at the way to a server.

#pragma once

#include "job/doctor_job.h"

namespace outpace::run {

// Prints a line for each. Gives 1 if something stands in the way of a run.
[[nodiscard]] int doctor_run(const job::DoctorJob& job);

}  // namespace outpace::run
