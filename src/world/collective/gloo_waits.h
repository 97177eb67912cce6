// Waits of Gloo's that can be ended from another thread. Included by gloo_group.cc alone.
// Tested by src/world/collective/gloo_group_test.cc.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

namespace outpace::collective {

// Ends waits. Gloo ends those for a message that has not begun, but not for one that was cut off in
// the middle, as when the other process is stopped or dies.
class Waits {
 public:
  void add(gloo::transport::UnboundBuffer& buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.insert(&buffer);
  }
  void remove(gloo::transport::UnboundBuffer& buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.erase(&buffer);
  }
  void end_all() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (gloo::transport::UnboundBuffer* buffer : buffers_) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }
  // Gloo's algorithms do not look whether a wait was ended, so it has to be an exception.
  void throw_if_ended() const {
    if (ended_) {
      throw std::runtime_error("the group was given up");
    }
  }

 private:
  std::mutex mutex_;
  std::set<gloo::transport::UnboundBuffer*> buffers_;
  std::atomic<bool> ended_ = false;
};

// A buffer of Gloo's whose waits can be ended.
class WatchedBuffer final : public gloo::transport::UnboundBuffer {
 public:
  WatchedBuffer(std::unique_ptr<gloo::transport::UnboundBuffer> inner, Waits& waits)
      : gloo::transport::UnboundBuffer(inner->ptr, inner->size),
        inner_(std::move(inner)),
        waits_(waits) {
    waits_.add(*inner_);
  }
  ~WatchedBuffer() override { waits_.remove(*inner_); }
  WatchedBuffer(const WatchedBuffer&) = delete;
  WatchedBuffer& operator=(const WatchedBuffer&) = delete;

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override {
    waits_.throw_if_ended();
    const bool came = inner_->waitRecv(rank, timeout);
    waits_.throw_if_ended();
    return came;
  }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override {
    waits_.throw_if_ended();
    const bool sent = inner_->waitSend(rank, timeout);
    waits_.throw_if_ended();
    return sent;
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int to, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->send(to, slot, offset, bytes);
  }
  void recv(int from, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(from, slot, offset, bytes);
  }
  void recv(std::vector<int> from,
            std::uint64_t slot,
            std::size_t offset,
            std::size_t bytes) override {
    inner_->recv(std::move(from), slot, offset, bytes);
  }

 private:
  const std::unique_ptr<gloo::transport::UnboundBuffer> inner_;
  Waits& waits_;
};

// Gloo's connections, with buffers whose waits can be ended.
class WatchedContext final : public gloo::transport::Context {
 public:
  explicit WatchedContext(std::shared_ptr<gloo::transport::Context> inner)
      : gloo::transport::Context(inner->rank, inner->size), inner_(std::move(inner)) {}

  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override {
    return inner_->getPair(rank);
  }
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    return inner_->createPair(rank);
  }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* begin,
                                                                      std::size_t bytes) override {
    return std::make_unique<WatchedBuffer>(inner_->createUnboundBuffer(begin, bytes), *waits_);
  }

  // Ends all waits on this side when it is called, also when this object is gone.
  [[nodiscard]] std::function<void()> ends_waits() const {
    return [waits = waits_] { waits->end_all(); };
  }
  // Every operation throws from now on, and those of the other processes that wait for this one.
  void break_all() {
    char nothing = 0;
    try {  // A wait that times out is how Gloo is told to close all connections.
      (void)inner_->createUnboundBuffer(&nothing, sizeof(nothing))
          ->waitRecv(std::chrono::milliseconds(1));
    } catch (const std::exception& /*timed_out*/) {
    }
    waits_->end_all();
  }

 private:
  const std::shared_ptr<gloo::transport::Context> inner_;
  const std::shared_ptr<Waits> waits_ = std::make_shared<Waits>();
};

}  // namespace outpace::collective
