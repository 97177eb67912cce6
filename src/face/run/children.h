// The processes that a run starts: each gets a resolved TOML file, and no other word.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "job/live_job.h"
#include "live/supervisor.h"

namespace outpace::run {

inline constexpr std::uint32_t kWorkerRestartsMax = 1000;  // In a row.
// Children end with their server, which is their parent: it cannot come back without them.
inline constexpr Duration kRejoinFor = std::chrono::seconds(20);

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
  // Where workers without a server keep what they decide: worker-3.jsonl. Empty: nowhere.
  std::string decisions{};
};

// The first `workers` workers of the job.
[[nodiscard]] std::vector<live::ChildSpec> worker_children(const job::TrainJob& job,
                                                           std::uint32_t workers,
                                                           const JobPlace& place,
                                                           const ChildFiles& files);
// The first `workers` workers of a ring or gossip.
[[nodiscard]] std::vector<live::ChildSpec> peer_children(const job::PeerJob& shared,
                                                         const job::TrainJob& job,
                                                         std::uint32_t workers,
                                                         const ChildFiles& files);
// One worker, of this rank. It has neither prefix nor restarts.
[[nodiscard]] live::ChildSpec peer_child(const job::PeerJob& shared,
                                         std::uint32_t worker,
                                         const ChildFiles& files);
// What the workers of another machine are told, but for where they find the job: as TOML.
[[nodiscard]] std::string settings_of(const job::PeerJob& shared);
// The same as it is read there. Throws a usage error if it is wrong.
[[nodiscard]] job::PeerJob peer_job_of(const std::string& settings);
// `evaluated`: whether an evaluation has come since it was asked last; then its crashes are counted
// anew. It is started again as often as it crashes.
[[nodiscard]] live::ChildSpec evaluator_child(const job::TrainJob& job,
                                              const JobPlace& place,
                                              const ChildFiles& files,
                                              std::function<bool()> evaluated);

// The folder of the run's directory in which workers keep their own state.
[[nodiscard]] std::string workers_folder(const ChildFiles& files);

// `--worker-prefix` as words, {worker} replaced by the rank; none if it is empty.
[[nodiscard]] std::vector<std::string> prefix_words(const std::string& prefix,
                                                    std::uint32_t worker);

}  // namespace outpace::run
