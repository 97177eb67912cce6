// The job of `outpace reduce`: a machine whose workers hand in one gradient.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spec.h"
#include "job/live_job.h"
#include "job/option_list.h"

namespace outpace::job {

struct ReduceJob {
  std::vector<std::string> command;  // Each worker's; empty: they are started elsewhere.
  std::string server;                // The one above.
  std::string token_file;
  TlsOptions tls;
  bool insecure_no_tls = false;
  std::uint32_t worker = 0;
  std::uint32_t workers_here = 1;
  std::string listen;  // unix:PATH; empty: a file that goes with the process.
  Spec policy = Spec::parse("sync");
  std::optional<Spec> compress;  // Nothing: as the server says.
  std::string worker_prefix;
  bool restart_workers = false;
  Reaching reaching;
  Output output;
};
void declare(OptionList& options, ReduceJob& job);

// `outpace worker --reduce-here N`: the same for workers that the program itself starts. Throws a
// usage error for options that do not go together. REQUIRES: job.worker; job.reduce_here >= 1.
[[nodiscard]] ReduceJob reduce_job_of(const WorkerJob& job);

// Declares --reduce-here.
void declare_reduce_here(OptionList& options, std::uint32_t& workers);

// Why a machine's workers cannot be cut off by this policy; empty if they can.
[[nodiscard]] std::string why_not_here(const Spec& policy);

// Throws a usage error for what does not go together.
void check(const ReduceJob& job);

// The training that the machine's own server is told of.
[[nodiscard]] Training training_here(const ReduceJob& job);

}  // namespace outpace::job
