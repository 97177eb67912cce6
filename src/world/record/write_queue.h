// Writes files on a thread of its own, so that a disk that hangs holds up nobody else.
//
// Tasks are carried out in order. A queue that is full refuses them, and the file of a refused one
// has a gap (output_file.h).

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace outpace::record {

class WriteQueue {
 public:
  using Task = std::function<void()>;

  // Holds at most this number of bytes.
  explicit WriteQueue(std::size_t bytes_max = std::size_t{32} << 20U);
  // Carries out what was added.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // False, and the task is dropped: as many bytes wait as may. Never waits itself; from any thread.
  // REQUIRES: the task does not throw.
  [[nodiscard]] bool add(std::size_t bytes, Task task);
  // Waits until all is carried out.
  void wait();
  // For how long the present task has been at it; nothing: none is.
  [[nodiscard]] std::optional<std::chrono::steady_clock::duration> busy() const;

 private:
  struct Waiting {
    std::size_t bytes;
    Task task;
  };
  void run();

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;  // Guards all below.
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
  std::optional<std::chrono::steady_clock::time_point> begun_;  // The present task.
  bool over_ = false;
  std::thread thread_;
};

}  // namespace outpace::record
