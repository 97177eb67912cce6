// A push and a pull over each carrier, by processes: a job's server, and workers that use
// outpace/worker.h. Every worker pushes a gradient and gets new weights, all at the same time. The
// server checks each gradient, steps (sgd) and publishes the next version, as in a job.
//
// A row gives the median and the 99th percentile of a round, the median in passes (the time of a
// memcpy of the payload, measured before each round), the processor time that all processes took
// together, the pages that the system gave a worker in a round, and the most memory that the server
// and the first worker have had. "views" use next_view() and gradient(), "vectors" next() and
// push() of a vector. Arguments: the largest payload in bytes (default 100e6), rounds per row (10),
// the only carrier ("all" of them), and the smallest payload.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spec.h"
#include "live/server.h"
#include "outpace/worker.h"
#include "wire/certificates.h"
#include "wire/kept_memory.h"
#include "wire/tls_files.h"

namespace outpace {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr const char* kToken = "a-token-for-the-benchmark";

enum class Interface : std::uint8_t { kViews, kVectors };

struct Row {
  std::string carrier;
  std::size_t bytes;
  std::uint32_t workers;
  Interface interface;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// The most memory that a process has had, in MiB.
double most_memory(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
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

// Processor time of all threads of a process, in seconds.
double cpu_seconds(pid_t process) {
  double nanoseconds = 0;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    double ran = 0;
    std::ifstream(task.path() / "schedstat") >> ran;
    nanoseconds += ran;
  }
  return 1e-9 * nanoseconds;
}

// A process that ends with this one, or before.
class Child {
 public:
  template <typename Work>
  explicit Child(Work work) : id_(::fork()) {
    if (id_ < 0) {
      throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    }
    if (id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        ::_exit(work());
      } catch (const std::exception& error) {
        std::fprintf(stderr, "wire_bench: %s\n", error.what());
      }
      ::kill(::getppid(), SIGTERM);  // Which waits for an answer of this one.
      ::_exit(1);
    }
  }
  ~Child() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }

 private:
  const pid_t id_;
};

// One end of a pipe.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error(std::string("pipe2: ") + std::strerror(errno));
    }
    read_ = ends[0];
    write_ = ends[1];
  }
  ~Pipe() {
    ::close(read_);
    ::close(write_);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void put(std::int64_t number) const {
    [[maybe_unused]] const ssize_t written = ::write(write_, &number, sizeof(number));
  }
  [[nodiscard]] std::int64_t take() const {
    std::int64_t number = 0;
    if (::read(read_, &number, sizeof(number)) != sizeof(number)) {
      throw std::runtime_error("a process has ended");
    }
    return number;
  }

 private:
  int read_ = -1;
  int write_ = -1;
};

live::ServerOptions server_options(const Row& row, const fs::path& folder) {
  const bool memory = row.carrier == "memory";
  live::ServerOptions options{.listen = memory ? "unix:" + (folder / "s").string() : "127.0.0.1:0",
                              .token = kToken};
  if (row.carrier == "tls") {
    options.tls = wire::tls_beside(folder / "token", wire::TlsSide::kServer);
  }
  options.coordinator.workers = row.workers;
  options.coordinator.batch = 1;
  options.coordinator.rate = 0.001;
  options.policy = Spec::parse("async");
  options.shard.optimizer = Spec::parse("sgd");
  return options;
}

// The server of a job in a process of its own.
class Server {
 public:
  Server(const Row& row, const fs::path& folder)
      : child_([&] {
          wire::keep_freed_memory();  // As `outpace server` does.
          live::Server server(server_options(row, folder), {});
          const std::string address = server.address();
          const std::size_t colon = address.rfind(':');
          port_.put(row.carrier == "memory" ? 0 : std::stoll(address.substr(colon + 1)));
          (void)server.run();
          return 0;
        }) {
    const std::int64_t port = port_.take();
    address_ = row.carrier == "memory" ? "unix:" + (folder / "s").string()
                                       : "127.0.0.1:" + std::to_string(port);
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] pid_t id() const { return child_.id(); }

 private:
  const Pipe port_;
  std::string address_;
  const Child child_;
};

// The worker's side of a round: what it pushes is what its memory holds.
class Trainer {
 public:
  Trainer(const WorkerOptions& options, const Row& row)
      : worker_(options), interface_(row.interface) {
    const std::size_t numbers = row.bytes / sizeof(float);
    worker_.join(
        {{.name = "w", .shape = {numbers}}},
        [&] { return std::vector<float>(numbers, 1.0F); },
        std::uint64_t{1} << 30U);
    next();
  }

  void round() {
    constexpr double kLoss = 1.0;
    if (interface_ == Interface::kViews) {
      worker_.push(worker_.gradient(), kLoss);
    } else {
      worker_.push(std::move(minibatch_->weights), kLoss);
    }
    next();
  }

 private:
  void next() {
    const bool more = interface_ == Interface::kViews ? worker_.next_view().has_value()
                                                      : (minibatch_ = worker_.next()).has_value();
    if (!more) {
      throw std::runtime_error("the run is over");
    }
  }

  Worker worker_;
  const Interface interface_;
  std::optional<Minibatch> minibatch_;
};

long pages_given() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

// A worker in a process of its own, which does a round when it is told.
class WorkerProcess {
 public:
  WorkerProcess(const WorkerOptions& options, const Row& row)
      : child_([&] {
          Trainer trainer(options, row);
          answers_.put(0);
          while (true) {
            (void)orders_.take();
            const long before = pages_given();
            trainer.round();
            answers_.put(pages_given() - before);
          }
          return 0;
        }) {}

  void begin() const { orders_.put(0); }
  // The pages that it was given, once it has done.
  [[nodiscard]] std::int64_t finish() const { return answers_.take(); }
  [[nodiscard]] pid_t id() const { return child_.id(); }

 private:
  const Pipe orders_;
  const Pipe answers_;
  const Child child_;
};

// Seconds for the bytes of a payload, at the rate of a piece that no cache holds.
double memcpy_seconds(std::size_t bytes) {
  constexpr std::size_t kBytes = 100'000'000;
  // Not the children's, whose memory is measured.
  static const auto make = [] {
    void* const made =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(made, 'x', kBytes);
    ::madvise(made, kBytes, MADV_DONTFORK);
    return made;
  };
  static const void* const from = make();
  static void* const to = make();
  const auto start = Clock::now();
  std::memcpy(to, from, kBytes);
  return seconds_since(start) * static_cast<double>(bytes) / static_cast<double>(kBytes);
}

void print_row(const Row& row, const fs::path& folder, std::size_t rounds) {
  constexpr std::size_t kWarm = 3;
  const bool tls = row.carrier == "tls";
  fs::create_directories(folder);
  std::ofstream(folder / "token") << kToken << "\n";
  fs::permissions(folder / "token", fs::perms::owner_read | fs::perms::owner_write);
  if (tls) {
    wire::write_certificates(folder,
                             wire::make_certificates(std::chrono::floor<std::chrono::seconds>(
                                                         std::chrono::system_clock::now()),
                                                     std::chrono::days(1)));
  }
  const Server server(row, folder);
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  for (std::uint32_t i = 0; i < row.workers; ++i) {
    WorkerOptions options{.server = server.address(), .token = kToken, .worker = i};
    if (tls) {
      options.tls_certificate = folder / "worker.pem";
      options.tls_key = folder / "worker.key";
      options.tls_ca = folder / "ca.pem";
    }
    workers.push_back(std::make_unique<WorkerProcess>(options, row));
  }
  for (const auto& worker : workers) {
    (void)worker->finish();
  }
  const auto cpu = [&] {
    double all = cpu_seconds(server.id());
    for (const auto& worker : workers) {
      all += cpu_seconds(worker->id());
    }
    return all;
  };
  std::vector<double> took;
  std::vector<double> copied;
  std::vector<double> pages;
  std::vector<double> worked;
  for (std::size_t i = 0; i < kWarm + rounds; ++i) {
    const double copy = memcpy_seconds(row.bytes);
    const double before = cpu();
    const auto start = Clock::now();
    std::int64_t given = 0;
    for (const auto& worker : workers) {
      worker->begin();
    }
    for (const auto& worker : workers) {
      given += worker->finish();
    }
    if (i >= kWarm) {
      took.push_back(seconds_since(start));
      worked.push_back(cpu() - before);
      copied.push_back(copy);
      pages.push_back(static_cast<double>(given) / row.workers);
    }
  }
  std::printf("%-7s %-8s %9.3g %8u %10.3f %10.3f %8.1f %8.1f %8.0f %10.0f %10.0f\n",
              row.carrier.c_str(),
              row.interface == Interface::kViews ? "views" : "vectors",
              static_cast<double>(row.bytes),
              row.workers,
              1e3 * quantile(took, 0.5),
              1e3 * quantile(took, 0.99),
              quantile(took, 0.5) / quantile(copied, 0.5),
              1e3 * quantile(worked, 0.5),
              quantile(pages, 0.5),
              most_memory(server.id()),
              most_memory(workers.front()->id()));
  std::fflush(stdout);
}

struct Wanted {
  double largest;
  std::size_t rounds;
  std::string carrier;
  double smallest;

  [[nodiscard]] bool has(const Row& row) const {
    const auto bytes = static_cast<double>(row.bytes);
    return bytes >= smallest && bytes <= largest && bytes * row.workers <= 4e8 &&
           (carrier == "all" || carrier == row.carrier);
  }
};

int run(const Wanted& wanted) {
  ::signal(SIGPIPE, SIG_IGN);
  const fs::path folder =
      fs::temp_directory_path() / ("outpace_bench_" + std::to_string(::getpid()));
  std::printf(
      "carrier with         bytes  workers  median ms     p99 ms   passes   cpu ms    pages"
      " server MiB worker MiB\n");
  std::fflush(stdout);
  for (const double bytes : {4e3, 4e5, 1e6, 1e7, 1e8}) {
    for (const std::uint32_t workers : {1U, 4U, 8U}) {
      for (const std::string carrier : {"memory", "tcp", "tls"}) {
        for (const Interface interface : {Interface::kViews, Interface::kVectors}) {
          const Row row{carrier, static_cast<std::size_t>(bytes), workers, interface};
          if (wanted.has(row)) {
            print_row(row, folder, wanted.rounds);
            fs::remove_all(folder);
          }
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace outpace

int main(int argc, char** argv) {
  const outpace::Wanted wanted{.largest = argc > 1 ? std::strtod(argv[1], nullptr) : 1e8,
                               .rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10ULL,
                               .carrier = argc > 3 ? argv[3] : "all",
                               .smallest = argc > 4 ? std::strtod(argv[4], nullptr) : 0.0};
  try {
    return outpace::run(wanted);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wire_bench: %s\n", error.what());
    return 1;
  }
}
