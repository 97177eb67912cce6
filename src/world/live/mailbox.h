// A queue of values that any thread posts to and one thread's event loop reads.

#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace outpace::live {

template <typename T>
class Mailbox {
 public:
  void post(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(std::move(value));
    }
    posted_.notify_one();
  }

  // Everything posted since the last call, in order; waits for something until `deadline`.
  // `out` is cleared first; passing the same vector again saves its memory.
  void receive(std::chrono::steady_clock::time_point deadline, std::vector<T>& out) {
    out.clear();
    std::unique_lock lock(mutex_);
    posted_.wait_until(lock, deadline, [this] { return !values_.empty(); });
    values_.swap(out);
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::vector<T> values_;
};

}  // namespace outpace::live
