// A round of pushes and pulls over each carrier: every client pushes a gradient and gets weights of
// the same size back, all at the same time.
//
// Clients live in the server's process, each with its own connection, so that one number holds both
// sides' work. A table row gives the median and the 99th percentile of a round, the bytes moved per
// second, that rate as a share of memcpy's (measured between the rounds), and the most memory that
// the process has had. Arguments: the largest payload in bytes (default 100e6), rounds per row
// (20), and the only carrier (all of them).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "protocol/messages.h"
#include "wire/certificates.h"
#include "wire/kept_memory.h"
#include "wire/transports.h"

namespace outpace::wire {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kToken = "bench";

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

struct Carrier {
  const char* name;
  std::string address;
  TlsFiles server;
  TlsFiles worker;
  bool shares_memory = false;
};

// A server that answers every push with weights of their own version, as one that never waits does.
class Rounds {
 public:
  Rounds(const Carrier& carrier, std::size_t clients, std::size_t numbers)
      : numbers_(numbers), payload_(std::make_shared<const std::vector<float>>(numbers, 1.0F)) {
    server_ =
        serve({.address = carrier.address,
               .token = kToken,
               .tls = carrier.server,
               .shares_memory = carrier.shares_memory,
               .warned = [](const std::string& why) { std::fprintf(stderr, "%s\n", why.c_str()); }},
              [this](ConnectionId id, ConnectionEvent event) { answer(id, event); });
    for (std::size_t i = 0; i < clients; ++i) {
      clients_.push_back(connect({.address = server_->address(),
                                  .token = kToken,
                                  .tls = carrier.worker,
                                  .shares_memory = carrier.shares_memory},
                                 [this](const ConnectionEvent& event) {
                                   if (const auto* closed = std::get_if<Closed>(&event);
                                       closed && !over_) {
                                     std::fprintf(stderr, "%s\n", closed->why.c_str());
                                   } else if (closed == nullptr) {
                                     arrived_.add();
                                   }
                                 }));
      clients_.back()->authorise(numbers);
      clients_.back()->send(protocol::Heartbeat{}, nullptr);  // Joins.
    }
    arrived_.take(clients);
  }

  ~Rounds() { over_ = true; }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  void run() {
    for (const std::unique_ptr<ClientTransport>& client : clients_) {
      client->send(kPush, payload_);
    }
    arrived_.take(clients_.size());
  }

 private:
  void answer(ConnectionId id, const ConnectionEvent& event) {
    const auto* received = std::get_if<Received>(&event);
    if (received == nullptr) {
      return;
    }
    if (received->payload.empty()) {
      server_->authorise(id, numbers_);
      server_->send(id, kWelcome, nullptr);
    } else {
      // The same numbers, and not known to be: shared memory takes another copy.
      auto version = std::make_shared<std::shared_ptr<const std::vector<float>>>(payload_);
      server_->send(
          id, protocol::Snapshot{.version = Version{1}}, Payload(*payload_, std::move(version)));
    }
  }

  const std::size_t numbers_;
  std::atomic<bool> over_{false};
  const std::shared_ptr<const std::vector<float>> payload_;
  Counter arrived_;
  std::unique_ptr<ServerTransport> server_;
  std::vector<std::unique_ptr<ClientTransport>> clients_;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Bytes per second, of a piece that no cache holds.
double memcpy_rate() {
  static const std::vector<char> from(std::size_t{64} << 20U, 'x');
  static std::vector<char> to(from.size());
  const auto start = Clock::now();
  std::memcpy(to.data(), from.data(), from.size());
  return static_cast<double>(from.size()) / seconds_since(start);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// MiB; the counter begins anew with each row.
double most_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:") {
      double kibibytes = 0;
      status >> kibibytes;
      return kibibytes / 1024;
    }
  }
  return 0;
}
void forget_most_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

void print_row(const Carrier& carrier, std::size_t clients, std::size_t bytes, std::size_t rounds) {
  forget_most_memory();
  Rounds bench(carrier, clients, bytes / sizeof(float));
  bench.run();
  std::vector<double> took;
  std::vector<double> copied;
  for (std::size_t i = 0; i < rounds; ++i) {
    copied.push_back(memcpy_rate());
    const auto start = Clock::now();
    bench.run();
    took.push_back(seconds_since(start));
  }
  const double median = quantile(took, 0.5);
  const double rate = 2.0 * static_cast<double>(clients * bytes) / median;
  std::printf("%-6s %10.3g %8zu %10.3f %10.3f %8.2f %8.0f %% %9.0f\n",
              carrier.name,
              static_cast<double>(bytes),
              clients,
              1e3 * median,
              1e3 * quantile(took, 0.99),
              1e-9 * rate,
              100 * rate / quantile(copied, 0.5),
              most_memory());
  std::fflush(stdout);
}

int run(double largest, std::size_t rounds, std::string_view carriers_wanted) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("outpace_bench_" + std::to_string(::getpid()));
  write_certificates(
      folder,
      make_certificates(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
                        std::chrono::days(1)));
  const std::vector<Carrier> carriers = {
      {.name = "memory",
       .address = "unix:" + (folder / "s").string(),
       .server = {},
       .worker = {},
       .shares_memory = true},
      {.name = "unix", .address = "unix:" + (folder / "s").string(), .server = {}, .worker = {}},
      {.name = "tcp", .address = "127.0.0.1:0", .server = {}, .worker = {}},
      {.name = "tls",
       .address = "127.0.0.1:0",
       .server = tls_beside(folder / "token", TlsSide::kServer),
       .worker = tls_beside(folder / "token", TlsSide::kWorker)}};
  std::printf("wire        bytes  clients  median ms     p99 ms     GB/s  of memcpy  most MiB\n");
  for (const double bytes : {4e3, 4e5, 1e6, 1e7, 1e8, 4e8}) {
    for (const std::size_t clients : {1U, 2U, 4U, 8U}) {
      if (bytes <= largest && bytes * static_cast<double>(clients) <= 4e8) {
        for (const Carrier& carrier : carriers) {
          if (carriers_wanted.empty() || carriers_wanted == carrier.name) {
            print_row(carrier, clients, static_cast<std::size_t>(bytes), rounds);
          }
        }
      }
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace outpace::wire

int main(int argc, char** argv) {
  outpace::wire::keep_freed_memory();  // As server and workers do.
  const double largest = argc > 1 ? std::strtod(argv[1], nullptr) : 1e8;
  const auto rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20ULL;
  return outpace::wire::run(largest, rounds, argc > 3 ? argv[3] : "");
}
