// For the tests of transports: sinks that remember events, and waits for them with a deadline.

#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "wire/certificates.h"
#include "wire/tls_files.h"
#include "wire/transport.h"
#include "wire/transports.h"

namespace outpace::wire {

inline constexpr const char* kToken = "open-sesame";
inline constexpr std::chrono::seconds kPatience{30};  // Reached only if a test is about to fail.

// The events of one connection.
struct Log {
  std::vector<Received> received;
  std::vector<Closed> closed;
  int after_closed = 0;  // Events that came when none should.

  void add(ConnectionEvent event) {
    after_closed += closed.empty() ? 0 : 1;
    if (auto* message = std::get_if<Received>(&event)) {
      message->turn.reset();  // Handled.
      received.push_back(std::move(*message));
    } else {
      closed.push_back(std::get<Closed>(std::move(event)));
    }
  }
};

// A sink of either side: remembers all events, and lets a test wait for what it expects.
class Recorder {
 public:
  ClientTransport::Sink client_sink() {
    return [this](ConnectionEvent event) { add(ConnectionId{0}, std::move(event)); };
  }
  ServerTransport::Sink server_sink() {
    return [this](ConnectionId id, ConnectionEvent event) { add(id, std::move(event)); };
  }

  // Whether `holds(logs by connection)` came true in time.
  template <typename Predicate>
  bool wait(Predicate holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return holds(std::as_const(logs_)); });
  }
  // One connection's events so far. The ids are those of `wait`; a client has the id 0.
  Log log(ConnectionId id = ConnectionId{0}) {
    const std::lock_guard lock(mutex_);
    return logs_[id];
  }

  bool wait_received(ConnectionId id, std::size_t count) {
    return wait([&](const auto& logs) {
      return logs.contains(id) && logs.at(id).received.size() >= count;
    });
  }
  bool wait_closed(ConnectionId id) {
    return wait([&](const auto& logs) { return logs.contains(id) && !logs.at(id).closed.empty(); });
  }
  // The connection that said hello under this name; 0 if none did in time.
  ConnectionId wait_hello(const std::string& host) {
    ConnectionId found{0};
    wait([&](const auto& logs) {
      for (const auto& [id, log] : logs) {
        const bool is_it = !log.received.empty() &&
                           std::holds_alternative<protocol::Hello>(log.received[0].message) &&
                           std::get<protocol::Hello>(log.received[0].message).host == host;
        found = is_it ? id : found;
      }
      return found != ConnectionId{0};
    });
    return found;
  }

 private:
  void add(ConnectionId id, ConnectionEvent event) {
    const std::lock_guard lock(mutex_);
    logs_[id].add(std::move(event));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ConnectionId, Log> logs_;
};

inline protocol::Hello hello_from(const std::string& host) {
  return {.worker = WorkerId{0},
          .process = 1,
          .host = host,
          .dataset_examples = 10,
          .manifest = {.tensors = {{.name = "w", .shape = {2}}}}};
}

// Numbers that show their index and their payload.
inline std::shared_ptr<const std::vector<float>> numbers(std::size_t size, float first) {
  auto payload = std::make_shared<std::vector<float>>(size);
  for (std::size_t i = 0; i < size; ++i) {
    (*payload)[i] = first + static_cast<float>(i % 1000);
  }
  return payload;
}

// What the server says of the clients that it refuses, or of memory that it cannot share.
class Refusals {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(text);
    changed_.notify_all();
  }
  // Whether a text with these words came in time.
  bool wait_for(const std::string& words) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] {
      return std::any_of(texts_.begin(), texts_.end(), [&](const std::string& text) {
        return text.find(words) != std::string::npos;
      });
    });
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return texts_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
};

class TransportTest : public testing::TestWithParam<const char*> {
 public:
 protected:
  void SetUp() override {
    if (has_tls()) {
      static const Certificates certificates = make_certificates(
          std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
          std::chrono::days(1));
      write_certificates(folder_ / "certificates", certificates);
    }
  }

  // The carrier under test: loopback TCP with any free port, TLS over that, either by a bundle of
  // connections, or a Unix socket, alone or with shared memory.
  [[nodiscard]] bool has_tls() const {
    return GetParam() == std::string("tls") || GetParam() == std::string("bundle_tls");
  }
  [[nodiscard]] bool has_bundle() const { return std::string(GetParam()).starts_with("bundle"); }
  [[nodiscard]] bool shares_memory() const { return GetParam() == std::string("memory"); }
  [[nodiscard]] bool is_unix() const {
    return shares_memory() || GetParam() == std::string("unix");
  }
  [[nodiscard]] std::string any_address() const {
    return is_unix() ? "unix:" + (folder_ / "s").string() : "127.0.0.1:0";
  }
  [[nodiscard]] TlsFiles tls(TlsSide side) const {
    return has_tls() ? tls_beside(folder_ / "certificates/token", side) : TlsFiles{};
  }
  [[nodiscard]] std::unique_ptr<ServerTransport> serve() { return serve(server_.server_sink()); }
  [[nodiscard]] std::unique_ptr<ServerTransport> serve(ServerTransport::Sink sink) {
    return wire::serve({.address = any_address(),
                        .token = kToken,
                        .tls = tls(TlsSide::kServer),
                        .unread_max = unread_max_,
                        .refused = [this](const std::string& text) { refused_.add(text); },
                        .shares_memory = shares_memory(),
                        .warned = [this](const std::string& text) { warned_.add(text); },
                        .to_begin = to_begin_},
                       std::move(sink));
  }
  [[nodiscard]] ConnectOptions to(const std::string& address) const {
    return {.address = address,
            .token = kToken,
            .deadline = kPatience,
            .tls = tls(TlsSide::kWorker),
            .shares_memory = shares_memory(),
            .connections = has_bundle() ? 4 : 1};
  }
  [[nodiscard]] std::unique_ptr<ClientTransport> connect(const std::string& address,
                                                         Recorder& recorder) const {
    return wire::connect(to(address), recorder.client_sink());
  }

  Recorder server_;  // First: outlives the transports of a test.
  Refusals refused_;
  Refusals warned_;
  Duration to_begin_ = kPatience;
  UnreadMax unread_max_{.messages = 2000, .payloads = 100};

 private:
  const TemporaryDirectory folder_;
};

}  // namespace outpace::wire
