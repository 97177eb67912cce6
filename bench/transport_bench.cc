// A round of pushes and pulls over each transport: every client pushes 400 KB (the gradient of a
// 100,000-weight network) and gets 400 KB of weights back, all at the same time.
//
// Clients live in the server's process, each with its own connection, so that one number holds both
// sides' work; between processes the two sides would also run on different cores where there are
// any.

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "protocol/messages.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

constexpr std::size_t kWeights = 100'000;

const protocol::Push kPush = {.id = {.job = 1,
                                     .generation = 1,
                                     .worker = WorkerId{0},
                                     .incarnation = 1,
                                     .sequence = Sequence{1}},
                              .examples = 1,
                              .partial = false,
                              .loss = 1,
                              .compute_seconds = 1};
const protocol::Welcome kWelcome = {.job = 1,
                                    .generation = 1,
                                    .needs_weights = false,
                                    .heartbeat = std::chrono::seconds(1),
                                    .seed = 1,
                                    .with_replacement = false};

// Counts events, and lets the benchmark wait for them.
class Counter {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_one();
  }
  void take(std::size_t wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= wanted; });
    count_ -= wanted;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

// A server that answers every push with the weights, as one that never waits does.
class Rounds {
 public:
  Rounds(const std::string& address, std::size_t clients) {
    server_ = wire::serve(
        {.address = address, .token = "bench"},
        [this](wire::ConnectionId id, wire::ConnectionEvent event) { serve(id, event); });
    for (std::size_t i = 0; i < clients; ++i) {
      clients_.push_back(wire::connect({.address = server_->address(), .token = "bench"},
                                       [this](const wire::ConnectionEvent& event) {
                                         if (std::holds_alternative<wire::Received>(event)) {
                                           arrived_.add();
                                         }
                                       }));
      clients_.back()->authorise(kWeights);
      clients_.back()->send(protocol::Heartbeat{}, nullptr);  // Joins.
    }
    arrived_.take(clients);
  }

  void run() {
    for (const std::unique_ptr<wire::ClientTransport>& client : clients_) {
      client->send(kPush, payload_);
    }
    arrived_.take(clients_.size());
  }

 private:
  void serve(wire::ConnectionId id, const wire::ConnectionEvent& event) {
    const auto* received = std::get_if<wire::Received>(&event);
    if (received == nullptr) {
      return;
    }
    if (received->payload.empty()) {
      server_->authorise(id, kWeights);
      server_->send(id, kWelcome, nullptr);
    } else {
      server_->send(id, protocol::Snapshot{.version = Version{1}}, payload_);
    }
  }

  const wire::Payload payload_ = std::make_shared<const std::vector<float>>(kWeights, 1.0F);
  Counter arrived_;
  std::unique_ptr<wire::ServerTransport> server_;
  std::vector<std::unique_ptr<wire::ClientTransport>> clients_;
};

void report(benchmark::State& state) {
  const auto bytes = 2 * state.range(0) * static_cast<std::int64_t>(kWeights * sizeof(float));
  state.SetBytesProcessed(state.iterations() * bytes);
}

void push_and_pull_over_tcp(benchmark::State& state) {
  Rounds rounds("127.0.0.1:0", static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] const auto ignored : state) {
    rounds.run();
  }
  report(state);
}

void push_and_pull_over_unix(benchmark::State& state) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("outpace_bench_" + std::to_string(::getpid()));
  Rounds rounds("unix:" + path, static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] const auto ignored : state) {
    rounds.run();
  }
  report(state);
}

// The second column is the processor time of all threads: on a busy machine, the one to compare.
void settings(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("clients")->Arg(1)->Arg(8)->MeasureProcessCPUTime()->UseRealTime()->Unit(
      benchmark::kMillisecond);
}

BENCHMARK(push_and_pull_over_tcp)->Apply(settings);
BENCHMARK(push_and_pull_over_unix)->Apply(settings);

}  // namespace
}  // namespace outpace::live

BENCHMARK_MAIN();
