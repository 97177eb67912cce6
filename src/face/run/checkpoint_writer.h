// Writes checkpoints beside the training: the caller waits for the copy of the state alone.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/archive.h"
#include "base/ids.h"
#include "checkpoint/checkpoint.h"
#include "record/write_queue.h"

namespace outpace::run {

class CheckpointWriter {
 public:
  struct Options {
    std::filesystem::path folder;
    checkpoint::Head head;  // But for the version.
    std::size_t kept = 3;   // The newest ones.
    // What it holds when a checkpoint is taken is written before the checkpoint, so that a server
    // that goes on from there finds all that led to it.
    record::WriteQueue& before;
    std::function<void(const std::string&)> warn;
    std::function<void(const std::string&)> note;  // For the log alone. From another thread.
  };
  explicit CheckpointWriter(Options options);
  // Waits until all is written.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Copies the state. If several copies wait because the disk is slow, only the newest is written.
  void take(Version version, const std::function<void(Archive&)>& keep);

 private:
  struct Taken {
    checkpoint::Checkpoint checkpoint;
    double pause = 0.0;  // In seconds.
  };

  [[nodiscard]] checkpoint::Tensors spare();
  void write_all();
  void write(const Taken& taken);

  // Constant after construction.
  const Options options_;
  // State, guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Taken> waiting_;
  checkpoint::Tensors spare_;  // The tensors written last: their memory serves the next.
  bool over_ = false;
  // The writing thread's:
  std::optional<Version> written_;
  bool failing_ = false;
  std::thread thread_;
};

}  // namespace outpace::run
