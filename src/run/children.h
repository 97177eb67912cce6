// The processes that a run starts: each gets a resolved TOML file, and no other word.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/live_job.h"
#include "live/supervisor.h"

namespace outpace::run {

inline constexpr std::uint32_t kEvaluatorRestartsMax = 3;

// Where a child finds the job.
struct JobPlace {
  std::string server;  // Its address.
  std::string token_file;
  job::TlsOptions tls;
  bool insecure_no_tls = false;
};

// Where children leave their files.
struct ChildFiles {
  std::string logs;      // A directory that exists: worker-3.log.
  std::string resolved;  // A directory that exists: worker-3.toml.
};

// The first `workers` workers of the job; one that is started again gets a greater incarnation.
[[nodiscard]] std::vector<live::ChildSpec> worker_children(const job::TrainJob& job,
                                                           std::uint32_t workers,
                                                           const JobPlace& place,
                                                           const ChildFiles& files);
// All workers of a ring or gossip, which meet by the file `rendezvous`.
[[nodiscard]] std::vector<live::ChildSpec> peer_children(const job::PeerJob& shared,
                                                         const job::TrainJob& job,
                                                         const ChildFiles& files);
[[nodiscard]] live::ChildSpec evaluator_child(const job::TrainJob& job,
                                              const JobPlace& place,
                                              const ChildFiles& files);

// `--worker-prefix` as words, {worker} replaced by the rank; none if it is empty.
[[nodiscard]] std::vector<std::string> prefix_words(const std::string& prefix,
                                                    std::uint32_t worker);

}  // namespace outpace::run
