// Handles values one at a time, in the order they were posted. A thread that posts while no other
// thread is at work handles the value itself, because waking another thread would take longer than
// most of the work. It handles what others post meanwhile too, but not for ever: it is the thread
// of a connection, which nobody reads until it returns. Before it goes it rests once: what is due
// by the clock is done after what has arrived.

#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace outpace::live {

// One thread, the owner, calls open(), run(), wait_until() and close(); any thread posts and wakes.
template <typename T>
class Strand {
 public:
  // `rest` is called, as `handle` is, whenever a turn is over: when nothing waits any more, or
  // after some tens of values. If either throws, the owner's next call throws the same, and no more
  // values are handled.
  explicit Strand(std::function<void(T)> handle, std::function<void()> rest = {})
      : handle_(std::move(handle)), rest_(std::move(rest)) {}

  // Until then, values wait.
  void open() {
    std::unique_lock lock(mutex_);
    work(lock);
    rethrow();
  }

  // From now on, values are dropped; returns when nobody is at work.
  void close() {
    std::unique_lock lock(mutex_);
    free_.wait(lock, [this] { return !busy_; });
    while (!waiting_.empty()) {
      busy_ = true;
      work(lock);
    }
    closed_ = true;
  }

  // The value is handled when this returns, or by the thread that is at work already, or by the
  // owner, which is woken.
  void post(T value) {
    std::unique_lock lock(mutex_);
    if (closed_) {
      return;
    }
    waiting_.push_back(std::move(value));
    if (!busy_ && !owner_waits_) {
      busy_ = true;
      work(lock);
    }
  }

  // Calls `task` while nobody is at work, then handles what waits. REQUIRES: not from within
  // `handle` or another task.
  template <typename Task>
  void run(Task task) {
    std::unique_lock lock(mutex_);
    owner_waits_ = true;  // Else busy posters could keep the owner out for ever.
    free_.wait(lock, [this] { return !busy_; });
    owner_waits_ = false;
    rethrow();
    busy_ = true;
    lock.unlock();
    try {
      task();
    } catch (...) {
      fail(std::current_exception());
    }
    lock.lock();
    work(lock);
    rethrow();
  }

  // Ends the owner's present wait, or its next one.
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    waking_.notify_one();
  }
  void wait_until(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    waking_.wait_until(lock, deadline, [this] { return woken_; });
    woken_ = false;
  }
  // The owner will not come again: from here on, posters handle all that is posted.
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      left_ = true;
    }
    run([] {});  // What waits for the owner.
  }

 private:
  static constexpr std::size_t kTurn = 32;  // Values, about, before another thread may go on.

  // Handles what is there, for a turn. REQUIRES: busy_, and the lock, which is free while `handle`
  // runs.
  void work(std::unique_lock<std::mutex>& lock) {
    std::size_t handled = 0;
    do {
      while (!waiting_.empty() && (handled < kTurn || left_)) {
        taken_.swap(waiting_);
        handled += taken_.size();
        lock.unlock();
        try {
          for (T& value : taken_) {
            handle_(std::move(value));
          }
        } catch (...) {
          fail(std::current_exception());
        }
        taken_.clear();
        lock.lock();
      }
      rest(lock);
    } while (!waiting_.empty() && (handled < kTurn || left_));
    busy_ = false;
    free_.notify_one();
    if (!waiting_.empty()) {
      woken_ = true;
      waking_.notify_one();
    }
  }

  void rest(std::unique_lock<std::mutex>& lock) {
    if (!rest_ || closed_) {
      return;
    }
    lock.unlock();
    try {
      rest_();
    } catch (...) {
      fail(std::current_exception());
    }
    lock.lock();
  }

  void fail(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::move(failure);
      closed_ = true;
      waiting_.clear();
    }
    wake();
  }

  // REQUIRES: mutex_ is held.
  void rethrow() {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

  const std::function<void(T)> handle_;
  const std::function<void()> rest_;
  // Only the thread that is at work uses it.
  std::vector<T> taken_;
  // State below is guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable free_;    // busy_ has become false.
  std::condition_variable waking_;  // woken_ has become true.
  std::vector<T> waiting_;
  std::exception_ptr failure_;
  bool busy_ = true;  // Somebody is at work, or it has not been opened.
  bool owner_waits_ = false;
  bool closed_ = false;
  bool left_ = false;
  bool woken_ = false;
};

}  // namespace outpace::live
