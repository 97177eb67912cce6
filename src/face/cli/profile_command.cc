#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/libtorch.h"
#include "cli/profile_of_trace.h"
#include "job/profile_job.h"
#include "record/output_file.h"
#include "run/profile_run.h"
#include "run/profile_script.h"
#include "throughput/quantile.h"

namespace outpace::cli {
namespace {

constexpr double kMilli = 1e3;

void print_sums(const throughput::MeasuredProfile& profile) {
  if (!profile.sums) {
    fmt::print(
        "  sums, meetings   not measured, because this outpace was built without libtorch\n");
    return;
  }
  fmt::print("  a sum of two     {:8.3f} ms: messages {:.3f}, bytes {:.3f}\n",
             kMilli * (2 * profile.sums->message_seconds +
                       profile.payload_bytes() * profile.sums->byte_seconds),
             2 * kMilli * profile.sums->message_seconds,
             kMilli * profile.payload_bytes() * profile.sums->byte_seconds);
  fmt::print("  a meeting of two {:8.3f} ms, without weights\n",
             2 * kMilli * profile.sums->meeting_message_seconds.value_or(0.0));
}

void print_packing(const throughput::PackingRates& packing) {
  std::string words;
  for (const auto& [format, rate] : packing.gradients) {
    words += fmt::format(
        "{}{} {:.2g}, {:.2g}", words.empty() ? "" : "; ", format, rate.pack, rate.unpack);
  }
  fmt::print("  packs, unpacks   {} GB/s\n", words);
}

// What gradients and weights went over.
std::string_view way_of(const std::string& listen) {
  return listen.starts_with("unix:") ? "a Unix socket" : "TCP";
}

void print(const throughput::MeasuredProfile& profile, const job::ProfileJob& job) {
  std::vector<double> computing;
  std::vector<double> rests;
  double most = 0.0;
  for (const throughput::MeasuredIteration& iteration : profile.iterations) {
    computing.push_back(iteration.compute_seconds);
    rests.push_back(iteration.rest_seconds);
    most = std::max(most, iteration.compute_seconds);
  }
  const double middle = throughput::quantile(std::move(computing), 0.5);
  const double rest = throughput::quantile(std::move(rests), 0.5);
  fmt::print("{} on {}, mini-batches of {}: {:.3g} MB of weights\n",
             profile.network,
             profile.data,
             profile.batch,
             1e-6 * profile.payload_bytes());
  fmt::print("  computing        {:8.3f} ms (median of {}; most {:.3f} ms)\n",
             kMilli * middle,
             profile.iterations.size(),
             kMilli * most);
  fmt::print("  push, apply, pull{:8.3f} ms over {}: messages {:.3f}, bytes {:.3f}, apply {:.3f}\n",
             kMilli * rest,
             way_of(job.serving.listen),
             2 * kMilli * profile.message_seconds,
             2 * kMilli * profile.payload_bytes() * profile.byte_seconds,
             kMilli * profile.apply_seconds);
  print_sums(profile);
  print_packing(profile.packing);
  fmt::print("  alone            {:8.0f} examples/s\n", profile.batch / (middle + rest));
  fmt::print("written to {}; next: outpace predict {} --workers 1..16\n", job.output, job.output);
}

int profile(const job::ProfileJob& job) {
  const run::MeasuredWorker measured = job.command.empty()
                                           ? run::measure_worker(job, learner(), measure_peers())
                                           : run::measure_script(job, measure_peers());
  record::write_atomically(job.output, measured.profile.to_json(measured.events));
  print(measured.profile, job);
  return 0;
}

}  // namespace

Run add_profile(job::OptionList& list) {
  auto job = std::make_shared<job::ProfileJob>();
  declare(list, *job);
  return [job](const job::OptionList& chosen) {
    check(chosen, *job);
    if (job->command.empty() && job->traces.files.empty()) {
      require_libtorch("profile without --from-trace or a command");
    }
    return job->traces.files.empty() ? profile(*job) : profile_of_trace(*job);
  };
}

}  // namespace outpace::cli
