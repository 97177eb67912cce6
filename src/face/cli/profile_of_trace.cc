#include "cli/profile_of_trace.h"

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "record/output_file.h"
#include "run/unpacked_file.h"
#include "throughput/trace_profile.h"
#include "throughput/trace_report.h"

namespace outpace::cli {
namespace {

throughput::TraceFindings read_findings(const std::string& path) {
  run::UnpackedFile file(path);
  return throughput::findings_of(
      throughput::read_pytorch_trace([&file] { return file.next(); }, path), path);
}

}  // namespace

int profile_of_trace(const job::ProfileJob& job) {
  const throughput::TraceGivens givens = throughput::givens_of(job);
  std::vector<throughput::TraceFindings> ranks;
  ranks.reserve(job.traces.files.size());
  for (const std::string& path : job.traces.files) {
    ranks.push_back(read_findings(path));
  }
  const throughput::MeasuredProfile profile = throughput::profile_of(ranks, givens);
  record::write_atomically(job.output, profile.to_json(""));
  fmt::print("{}written to {}; next: outpace predict {} --workers 1..16\n",
             throughput::trace_report(ranks, profile, givens.payload_bytes.has_value()),
             job.output,
             job.output);
  std::fflush(stdout);
  return 0;
}

}  // namespace outpace::cli
