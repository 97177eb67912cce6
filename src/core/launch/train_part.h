// `outpace train` under a launcher. All processes have the same command line. The first process is
// the server, the evaluator and worker 0; each other process is one worker.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/place.h"

namespace outpace::launch {

// Why find_place() found nothing for this choice of launcher.
[[nodiscard]] std::string why_no_place(const std::string& choice);

// "worker 3 of 8, local rank 1 (RANK of torchrun)".
[[nodiscard]] std::string worker_in_words(const Place& place, std::optional<std::uint32_t> workers);

struct TrainPart {
  Place place;
  std::uint32_t workers = 0;
  std::string address;  // Where the others connect; the first process listens there.

  friend bool operator==(const TrainPart&, const TrainPart&) = default;
};

struct TrainPartOptions {
  std::string launcher = kAnyLauncher;
  std::string token_file;                // Empty if not given.
  std::string listen;                    // Empty if not given.
  std::optional<std::uint32_t> workers;  // Nothing if not given.
};

// Whether the first process listens at all addresses of its machine, and not only at what the name
// in `part.address` is there: a machine's /etc/hosts may say something else of its own name than
// the other machines are told. An address in numbers is taken as it is.
[[nodiscard]] bool may_listen_everywhere(const TrainPart& part);

// This process's part in the run; nothing if `train` runs alone on this machine. Throws a usage
// error for contradictions: several processes without a token file, a token file without a
// launcher, different numbers of workers and processes, or no address that all processes can know.
[[nodiscard]] std::optional<TrainPart> find_train_part(const Variables& variables,
                                                       const TrainPartOptions& options);

}  // namespace outpace::launch
