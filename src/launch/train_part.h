// `outpace train` behind a launcher: every process has the same command line, and the first of them
// is the server, the evaluator and worker 0, each of the others one worker.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/place.h"

namespace outpace::launch {

// Why find_place() found nothing with this choice of a launcher.
[[nodiscard]] std::string why_no_place(const std::string& choice);

// A process that was started again is newer than any that its predecessor rejoined as.
[[nodiscard]] std::uint32_t incarnation_of_start(std::uint32_t start);

// "worker 3 of 8, local rank 1 (RANK of torchrun)".
[[nodiscard]] std::string worker_in_words(const Place& place, std::optional<std::uint32_t> workers);

struct TrainPart {
  Place place;
  std::uint32_t workers = 0;
  std::string address;  // Where the first process listens, and the others connect to.

  friend bool operator==(const TrainPart&, const TrainPart&) = default;
};

struct TrainPartOptions {
  std::string launcher = kAnyLauncher;
  std::string token_file;                // Empty: not given.
  std::string listen;                    // As well.
  std::optional<std::uint32_t> workers;  // Nothing: not given.
};

// This process's part in the run; nothing if `train` is to run alone on this machine. Throws a
// usage error for what cannot be meant: several processes without a token file, a token file
// without a launcher, another number of workers than of processes, or no address that all can know.
[[nodiscard]] std::optional<TrainPart> find_train_part(const Variables& variables,
                                                       const TrainPartOptions& options);

}  // namespace outpace::launch
