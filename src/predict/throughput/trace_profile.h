// Makes a measured profile from the traces of one or several ranks.
//
// A trace has a worker's times but none of a server's. Unless the user gives them, the processor
// costs of a message and of a byte count as zero, and an update costs what PyTorch's own optimizer
// took. The profile says so (MeasuredProfile::not_measured).

#pragma once

#include <optional>
#include <span>
#include <string>

#include "job/profile_job.h"
#include "throughput/measured_profile.h"
#include "throughput/trace_pass.h"
#include "throughput/trace_steps.h"

namespace outpace::throughput {

// What is kept of a trace after its events are freed.
struct TraceFindings {
  std::string file;
  TraceDialect dialect;
  TraceSteps steps;
  TracePass pass;
};

// Throws as steps_of() does; messages begin with `file`.
[[nodiscard]] TraceFindings findings_of(const PytorchTrace& trace, const std::string& file);

// What the user gives in addition to the traces.
struct TraceGivens {
  std::uint32_t batch;
  std::optional<double> payload_bytes;
  std::optional<double> apply_seconds;
  std::optional<double> message_seconds;
  std::optional<double> byte_seconds;
};

[[nodiscard]] TraceGivens givens_of(const job::ProfileJob& job);

// REQUIRES: at least one rank. Throws a usage error if the size of the payload is unknown, larger
// than any network's, or different between ranks.
[[nodiscard]] MeasuredProfile profile_of(std::span<const TraceFindings> ranks,
                                         const TraceGivens& givens);

}  // namespace outpace::throughput
