// For tests of the live server: peers that say what they like, and a server to say it to.

#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "live/server.h"
#include "live/worker_session.h"
#include "wire/transport_test.h"

namespace outpace::live {

inline protocol::Manifest network_of(std::uint64_t numbers) {
  return {.tensors = {{.name = "w", .shape = {numbers}}}};
}

inline protocol::Hello hello_of(std::uint32_t worker,
                                const protocol::Manifest& network = network_of(2)) {
  return {.worker = WorkerId{worker},
          .process = worker,
          .host = "here",
          .dataset_examples = 10,
          .manifest = network};
}

// A client that says what the test wants it to say.
class RawPeer {
 public:
  RawPeer(const std::string& address, const protocol::Message& first)
      : transport_(
            wire::connect({.address = address, .token = wire::kToken, .deadline = wire::kPatience},
                          events_.client_sink())) {
    transport_->authorise(1000);
    send(first);
  }

  void send(const protocol::Message& message, std::vector<float> numbers = {}) {
    transport_->send(
        message,
        numbers.empty() ? nullptr : std::make_shared<const std::vector<float>>(std::move(numbers)));
  }
  // The message after those that were taken before; nothing if none came in time.
  [[nodiscard]] std::optional<wire::Received> next() {
    if (!events_.wait_received(wire::ConnectionId{0}, ++taken_)) {
      return std::nullopt;
    }
    return events_.log().received[taken_ - 1];
  }
  template <typename Message>
  [[nodiscard]] Message next_as() {
    const auto received = next();
    const auto* message = received ? std::get_if<Message>(&received->message) : nullptr;
    EXPECT_NE(message, nullptr) << "another message, or none";
    return message == nullptr ? Message{} : *message;
  }
  [[nodiscard]] bool closed() { return events_.wait_closed(wire::ConnectionId{0}); }

 private:
  wire::Recorder events_;
  std::size_t taken_ = 0;
  std::unique_ptr<wire::ClientTransport> transport_;
};

class ServerTest : public testing::Test {
 public:
 protected:
  ~ServerTest() override {
    if (server_) {
      server_->stop(ExitCode::kFailure, "the test is over");
      if (run_.valid()) {
        run_.wait();
      }
    }
  }

  struct Evaluators {
    bool expected = false;
    bool needed = false;
    Duration patience = wire::kPatience * 4;
  };
  // Raw peers have no heart.
  void serve(std::uint32_t workers, Duration heartbeat_timeout = wire::kPatience * 4) {
    serve(workers, {}, heartbeat_timeout);
  }
  void serve(std::uint32_t workers,
             const Evaluators& evaluators,
             Duration heartbeat_timeout = wire::kPatience * 4) {
    ServerOptions options{.listen = "unix:" + (folder_ / "s").string(), .token = wire::kToken};
    options.coordinator.workers = workers;
    options.coordinator.batch = 2;
    options.coordinator.limits.updates = 4;
    options.coordinator.heartbeat_timeout = heartbeat_timeout;
    options.coordinator.evaluate_every = 2;  // After each update.
    options.coordinator.patience = evaluators.patience;
    options.expects_evaluator = evaluators.expected;
    options.needs_evaluator = evaluators.needed;
    options.policy = Spec::parse("async");
    options.shard.optimizer = Spec::parse("sgd");
    server_ = std::make_unique<Server>(
        options,
        ServerCallbacks{.warned = [this](const std::string& line) { said_.put(line); },
                        .trained =
                            [this](const protocol::Manifest& /*manifest*/,
                                   std::span<const float> weights,
                                   Version /*version*/) {
                              trained_.set_value({weights.begin(), weights.end()});
                            }});
    run_ = std::async(std::launch::async, [this] { return server_->run(); });
  }
  [[nodiscard]] SessionOptions session(std::uint32_t worker) const {
    return {.server = server_->address(),
            .token = wire::kToken,
            .worker = WorkerId{worker},
            .process = worker};
  }
  // Waits until the server has said a line with this in it.
  [[nodiscard]] bool until_said(const std::string& part) { return said_.wait(part); }

  // The final weights, as soon as they are handed over.
  [[nodiscard]] std::vector<float> trained() {
    auto weights = trained_.get_future();
    if (weights.wait_for(wire::kPatience) != std::future_status::ready) {
      ADD_FAILURE() << "the weights were not handed over";
      return {};
    }
    return weights.get();
  }
  void stop(ExitCode code) { server_->stop(code, "the test says so"); }
  [[nodiscard]] RunResult result() { return run_.get(); }

  [[nodiscard]] std::string address() const { return server_->address(); }
  [[nodiscard]] RawPeer peer(const protocol::Message& first) const {
    return {server_->address(), first};
  }
  // A peer with this first message that is welcomed; tries until the server has noticed that those
  // that left are gone.
  [[nodiscard]] std::unique_ptr<RawPeer> welcomed(const protocol::Message& first,
                                                  protocol::Welcome* welcome = nullptr) const {
    const auto deadline = std::chrono::steady_clock::now() + wire::kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      auto peer = std::make_unique<RawPeer>(server_->address(), first);
      const auto answer = peer->next();
      if (answer && std::holds_alternative<protocol::Welcome>(answer->message)) {
        if (welcome != nullptr) {
          *welcome = std::get<protocol::Welcome>(answer->message);
        }
        return peer;
      }
    }
    return nullptr;
  }

 private:
  class Lines {
   public:
    void put(const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
      changed_.notify_all();
    }
    bool wait(const std::string& part) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, wire::kPatience, [&] {
        return std::ranges::any_of(
            lines_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
      });
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> lines_;
  };

  const TemporaryDirectory folder_;
  Lines said_;
  std::promise<std::vector<float>> trained_;
  std::unique_ptr<Server> server_;
  std::future<RunResult> run_;
};

inline protocol::Push push_of(const protocol::Welcome& welcome, const protocol::Release& release) {
  return {.id = {.job = welcome.job,
                 .generation = welcome.generation,
                 .worker = WorkerId{0},
                 .incarnation = 1,
                 .sequence = release.sequence},
          .examples = 2,
          .partial = false,
          .loss = 0.5,
          .compute_seconds = 0.1};
}

// A job of one worker, raw, that has its first release.
class OpenReleaseTest : public ServerTest {
 protected:
  void SetUp() override {
    serve(1);
    worker_ = std::make_unique<RawPeer>(address(), hello_of(0));
    const auto welcome = worker_->next_as<protocol::Welcome>();
    worker_->send(protocol::InitialWeights{}, {8, 8});
    push_ = push_of(welcome, worker_->next_as<protocol::Release>());
  }
  // What the server says when it ends the connection for this push.
  [[nodiscard]] std::string farewell_to(const protocol::Push& push, std::vector<float> gradient) {
    worker_->send(push, std::move(gradient));
    const auto stop = worker_->next_as<protocol::Stop>();
    EXPECT_EQ(stop.how, protocol::Farewell::kFailed);
    EXPECT_TRUE(worker_->closed());
    EXPECT_TRUE(until_said("worker 0 is sent away: " + stop.why));
    return stop.why;
  }

  std::unique_ptr<RawPeer> worker_;
  protocol::Push push_{};
};

}  // namespace outpace::live
