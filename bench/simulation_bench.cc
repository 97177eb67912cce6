// Whole simulated runs: how many events a second, in how much memory, and how the cost of an event
// grows with the number of workers. Without a network, a record or a watcher; leases, identities
// and the hash of events are on. Each run has a process of its own, so that its memory is its own.
//
// Without latency what is said arrives at once and is no event: one event is a worker's whole
// iteration, from its gradient to the start of the next. With latency each message is an event.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "policy/catalogue.h"
#include "run/large_pages.h"
#include "sim/cluster.h"
#include "sim/timing.h"

namespace outpace::sim {
namespace {

// What we hold ourselves to.
constexpr double kMillionEventsPerSecond = 3.0;  // Events of `async` with the fewest workers.
constexpr double kSeconds = 60.0;                // For 100 iterations of 100,000 workers.
constexpr double kMebibytes = 2048.0;

struct Job {
  std::string policy;
  std::uint32_t workers;
  server::Limits limits;
  int runs;  // The fastest counts: what else the machine does only makes it slower.
  Duration latency{};
};

constexpr Duration kLatency = std::chrono::microseconds(100);

const std::vector<Job> kJobs{
    {"async", 1'000, {.iterations = 3'000'000}, 5, kLatency},
    {"async", 10'000, {.iterations = 3'000'000}, 5, kLatency},
    {"async", 100'000, {.iterations = 5'000'000}, 3, kLatency},
    {"async", 1'000, {.iterations = 5'000'000}, 5},
    {"async", 10'000, {.iterations = 5'000'000}, 5},
    {"async", 100'000, {.iterations = 10'000'000}, 3},
    // A hundred updates are a hundred releases each; 10,000 of an update's are given up.
    {"backup:cutoff=90000", 100'000, {.updates = 100}, 1},
    {"ssp:s=3", 100'000, {.iterations = 10'000'000}, 1},
    {"softsync:n=10", 100'000, {.iterations = 10'000'000}, 1},
};

struct Found {
  std::uint64_t events = 0;
  std::uint64_t hash = 0;
  double wall_seconds = 0.0;
  double seconds = 0.0;  // Processor time.
  double mebibytes = 0.0;

  [[nodiscard]] double nanoseconds_per_event() const {
    return 1e9 * seconds / static_cast<double>(events);
  }
};

double processor_seconds() {
  timespec time{};
  CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// As `outpace simulate` runs the job, with what that has by default.
Found run_here(const Job& job) {
  run::ask_for_large_pages();  // As the program does.
  ClusterOptions options{.policy = Spec::parse(job.policy),
                         .coordinator = {.workers = job.workers,
                                         .examples = 60'000,
                                         .limits = job.limits,
                                         .evaluate_every = 1'000'000'000},
                         .shard = {.optimizer = Spec::parse("sgd")},
                         .target = {},
                         .latency = job.latency};
  options.coordinator.staleness = update::StalenessRule::parse(
      Spec::parse(policy::find(options.policy.name).asynchronous ? "inverse" : "none"));
  DrawnTiming timing(Runtimes::parse("lognormal(mean=100ms,cv=0.3)",
                                     {.workers = job.workers, .seed = 1, .read_file = {}}),
                     {});
  const auto begun = std::chrono::steady_clock::now();
  const double seconds_before = processor_seconds();
  Cluster cluster(options, timing, nullptr, nullptr, nullptr);
  const ClusterResult result = cluster.run();
  CHECK(result.code == ExitCode::kDone);
  return {.events = result.events,
          .hash = result.hash,
          .wall_seconds =
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
          .seconds = processor_seconds() - seconds_before};
}

Found run_apart(const Job& job) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const Found found = run_here(job);
    _exit(write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  close(ends[1]);
  Found found;
  CHECK(read(ends[0], &found, sizeof found) == sizeof found);
  close(ends[0]);
  rusage usage{};
  CHECK(wait4(child, nullptr, 0, &usage) == child);
  found.mebibytes = static_cast<double>(usage.ru_maxrss) / 1024.0;
  return found;
}

Found fastest(const Job& job) {
  Found best = run_apart(job);
  for (int again = 1; again < job.runs; ++again) {
    const Found found = run_apart(job);
    CHECK(found.hash == best.hash);
    best = found.seconds < best.seconds ? found : best;
  }
  return best;
}

const char* verdict(bool holds) {
  return holds ? "holds" : "DOES NOT HOLD";
}

std::string name(const Job& job) {
  return job.policy + (job.latency > Duration{} ? ", latency" : "");
}

// Beside the smallest run of the same name.
void compare_cost(const Job& job, const Found& found, const Job& small, const Found& least) {
  if (job.workers == small.workers) {
    std::printf("%s, %u workers: %.2f million events a second; at least %.0f: %s\n",
                name(job).c_str(),
                job.workers,
                1e3 / found.nanoseconds_per_event(),
                kMillionEventsPerSecond,
                verdict(1e3 / found.nanoseconds_per_event() >= kMillionEventsPerSecond));
    return;
  }
  const double grown = found.nanoseconds_per_event() / least.nanoseconds_per_event();
  const double allowed = std::log(job.workers) / std::log(small.workers);
  std::printf("%s, %u workers: an event costs %.2f times as much; log(workers) is %.2f: %s\n",
              name(job).c_str(),
              job.workers,
              grown,
              allowed,
              verdict(grown <= allowed));
}

void compare(const std::vector<Found>& all) {
  std::printf("\n");
  std::size_t small = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Job& job = kJobs[i];
    small = name(job) == name(kJobs[small]) ? small : i;
    if (job.policy == "async") {
      compare_cost(job, all[i], kJobs[small], all[small]);
    } else {
      std::printf("%s, %u workers: %.1f s, %.0f MiB; under %.0f and %.0f: %s\n",
                  job.policy.c_str(),
                  job.workers,
                  all[i].wall_seconds,
                  all[i].mebibytes,
                  kSeconds,
                  kMebibytes,
                  verdict(all[i].wall_seconds < kSeconds && all[i].mebibytes < kMebibytes));
    }
  }
}

}  // namespace

// All jobs, or the one whose number is given: for a profiler, in this process.
int run(int count, char** arguments) {
  if (count > 1) {
    const Job& job = kJobs.at(std::strtoul(arguments[1], nullptr, 10));
    std::printf("%.0f ns an event\n", run_here(job).nanoseconds_per_event());
    return 0;
  }
  std::printf("%-20s %8s %10s %8s %12s %12s %6s %8s  %s\n",
              "policy",
              "workers",
              "events",
              "wall s",
              "million/s",
              "ns an event",
              "/ ln",
              "peak MiB",
              "event log");
  std::vector<Found> all;
  for (const Job& job : kJobs) {
    const Found& found = all.emplace_back(fastest(job));
    std::printf("%-20s %8u %10llu %8.2f %12.2f %12.0f %6.1f %8.0f  %016llx\n",
                name(job).c_str(),
                job.workers,
                static_cast<unsigned long long>(found.events),
                found.wall_seconds,
                1e3 / found.nanoseconds_per_event(),
                found.nanoseconds_per_event(),
                found.nanoseconds_per_event() / std::log(job.workers),
                found.mebibytes,
                static_cast<unsigned long long>(found.hash));
    std::fflush(stdout);
  }
  compare(all);
  return 0;
}

}  // namespace outpace::sim

int main(int count, char** arguments) {
  return outpace::sim::run(count, arguments);
}
