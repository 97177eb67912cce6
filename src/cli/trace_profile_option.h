// `outpace profile --from-trace`: a profile from what PyTorch's profiler wrote, without a run.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/option_list.h"

#include "cli/arguments.h"

namespace outpace::cli {

struct TraceProfileOptions {
  std::vector<std::string> files;  // Of one rank each; empty: the other way, a run.
  std::string parameters;
  std::string payload;
  std::string apply;
  std::string message;
  std::string copy_rate;
};
void add_trace_profile_options(job::OptionList& list, TraceProfileOptions& options);

// Refuses options of the one way beside the other.
void check_trace_profile(const TraceProfileOptions& options, const Origins& origins);

// Writes the profile, and a summary to standard output. Throws a usage error for a wrong file or
// option. REQUIRES: some files.
void profile_traces(const TraceProfileOptions& options,
                    std::uint32_t batch,
                    const std::string& output);

}  // namespace outpace::cli
