#include "record/write_queue.h"

#include <utility>

namespace outpace::record {

using std::chrono::steady_clock;

WriteQueue::WriteQueue(std::size_t bytes_max) : bytes_max_(bytes_max), thread_([this] { run(); }) {}

WriteQueue::~WriteQueue() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool WriteQueue::add(std::size_t bytes, Task task) {
  const std::lock_guard lock(mutex_);
  if (bytes_ > 0 && bytes_ + bytes > bytes_max_) {
    return false;
  }
  bytes_ += bytes;
  waiting_.push_back({.bytes = bytes, .task = std::move(task)});
  changed_.notify_all();
  return true;
}

void WriteQueue::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !begun_; });
}

std::optional<steady_clock::duration> WriteQueue::busy() const {
  const std::lock_guard lock(mutex_);
  if (!begun_) {
    return std::nullopt;
  }
  return steady_clock::now() - *begun_;
}

void WriteQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    begun_ = steady_clock::now();
    lock.unlock();
    next.task();
    next.task = nullptr;
    lock.lock();
    begun_.reset();
    bytes_ -= next.bytes;
    changed_.notify_all();
  }
}

}  // namespace outpace::record
