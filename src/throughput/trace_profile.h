// From what the traces of one or several ranks tell, the profile that predictions start from.
//
// A trace has a worker's time and nothing of a server's. What a message and a byte cost the
// processors is taken for nothing unless the user says more, and an update for what PyTorch's own
// optimizer took; the profile says so (MeasuredProfile::not_measured).

#pragma once

#include <optional>
#include <span>
#include <string>

#include "job/profile_job.h"
#include "throughput/measured_profile.h"
#include "throughput/trace_pass.h"
#include "throughput/trace_steps.h"

namespace outpace::throughput {

// What is kept of a trace when its events are gone.
struct TraceFindings {
  std::string file;
  TraceDialect dialect;
  TraceSteps steps;
  TracePass pass;
};

// Throws as steps_of() does, in words that begin with `file`.
[[nodiscard]] TraceFindings findings_of(const PytorchTrace& trace, const std::string& file);

// What a user says beside the traces.
struct TraceGivens {
  std::uint32_t batch;
  std::optional<double> payload_bytes;
  std::optional<double> apply_seconds;
  std::optional<double> message_seconds;
  std::optional<double> byte_seconds;
};

[[nodiscard]] TraceGivens givens_of(const job::ProfileJob& job);

// REQUIRES: one rank at least. Throws a usage error if the payload is not known, is more than any
// network has, or differs between ranks.
[[nodiscard]] MeasuredProfile profile_of(std::span<const TraceFindings> ranks,
                                         const TraceGivens& givens);

}  // namespace outpace::throughput
