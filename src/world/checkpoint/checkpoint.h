// Checkpoints of a run, in its directory:
//
//   RUN/checkpoints/g0001-u000000001000/
//     checkpoint.json      what it is of, its checksum, and each other file's size and CRC-32C
//     state.json           all that decides what comes next, but for large vectors
//     tensors.safetensors  the large ones: weights, optimizer, ...
//
// docs/checkpoints.md describes the format. A checkpoint is written under another name, synced and
// renamed: one that has its name is whole. The names sort by generation, then by update.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "checkpoint/state_archive.h"
#include "record/safetensors.h"

namespace outpace::checkpoint {

// What a checkpoint is of.
struct Head {
  std::uint64_t job = 0;
  std::uint32_t generation = 1;
  Version version{};
  std::string policy;   // Its spec.
  std::string program;  // The program that wrote it: "outpace 0.1.0 (4f2c1ab)".

  void keep(Archive& archive);
};

struct Checkpoint {
  Head head;
  State state;
};

// Its name in the folder of checkpoints.
[[nodiscard]] std::string name_of(const Head& head);

// Throws Error if the file system refuses; nothing of it is left then.
void write(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// Those that have a name, the newest first; none if there is no such folder.
[[nodiscard]] std::vector<std::filesystem::path> list(const std::filesystem::path& folder);

// Throws Error(kUnreadable) that names the file and what is wrong with it. read() checks all sizes
// and checksums, and that the weights are finite; read_head() nothing of it.
[[nodiscard]] Head read_head(const std::filesystem::path& checkpoint);
[[nodiscard]] Checkpoint read(const std::filesystem::path& checkpoint);

// The newest that is whole; `skipped` hears of each newer one that is not. Throws
// Error(kUnreadable) if there is none.
[[nodiscard]] Checkpoint read_newest(const std::filesystem::path& folder,
                                     const std::function<void(const std::string&)>& skipped);

// The network's weights, in a state of live/server_state.cc. Throws Error(kUnreadable) if it is
// none.
[[nodiscard]] record::Weights weights_of(State state);

// Removes all but the newest `kept`, and what an interrupted write() left.
void remove_old(const std::filesystem::path& folder, std::size_t kept);

}  // namespace outpace::checkpoint
