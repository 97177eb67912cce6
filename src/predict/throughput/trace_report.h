// What the traces of PyTorch's profiler say, for people: the parts of a step, and slow ranks.

#pragma once

#include <string>
#include <vector>

#include "throughput/measured_profile.h"
#include "throughput/trace_profile.h"

namespace outpace::throughput {

// `payload_given`: by the user, not by the traces. REQUIRES: one rank at least.
[[nodiscard]] std::string trace_report(const std::vector<TraceFindings>& ranks,
                                       const MeasuredProfile& profile,
                                       bool payload_given);

}  // namespace outpace::throughput
