// `outpace-lab swarm`: seeds from a range, one random job each, until the range or the time is used
// up or one breaks an invariant.
//
// Tested by test/program/lab_test.py (class Swarm).

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"
#include "commit.h"
#include "lab_cli/commands.h"
#include "swarm/peer_job.h"
#include "swarm/peer_trial.h"
#include "swarm/random_job.h"
#include "swarm/seed_run.h"

namespace outpace::lab_cli {
namespace {

using std::chrono::steady_clock;

constexpr double kJobsMost = 256;

struct SwarmWords {
  std::string seeds = "0..999";
  Duration time_budget{};  // 0: none.
  std::uint32_t jobs = 1;  // Seeds at a time.
  bool json = false;
};

struct Seeds {
  std::uint64_t first;
  std::uint64_t last;
};

Seeds parse_seeds(const std::string& text) {
  const std::size_t dots = text.find("..");
  const auto first = parse_count(text.substr(0, dots));
  const auto last = dots == std::string::npos ? first : parse_count(text.substr(dots + 2));
  if (!first || !last || *last < *first || *last == UINT64_MAX) {
    throw usage_error("--seeds is '" + text +
                      "'; it takes a seed such as 17 or a range such as 0..999, both included");
  }
  return {*first, *last};
}

// What a failed CHECK leaves no time to say. A thread's own, read where the thread aborts.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): signal handlers see no other
thread_local std::array<char, 128> if_aborted;

void say_which_seed(int /*signal*/) {
  std::size_t length = 0;
  while (length < if_aborted.size() && if_aborted[length] != '\0') {
    ++length;
  }
  if (::write(STDERR_FILENO, if_aborted.data(), length) < 0) {
    return;  // The program ends anyhow.
  }
}

void announce(std::uint64_t seed) {
  const auto end = fmt::format_to_n(if_aborted.data(),
                                    if_aborted.size() - 1,
                                    "seed {} aborts; again: {}\n",
                                    seed,
                                    swarm::again(seed));
  *end.out = '\0';
}

// Sums over the seeds.
struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t events_least = UINT64_MAX;  // Events of a seed.
  Duration simulated{};
  std::uint64_t updates = 0;
  std::map<std::string, std::uint64_t> faults;    // Kind -> how often it came to pass.
  std::map<std::string, std::uint64_t> policies;  // Name -> seeds.

  // The same seeds' runs without a server.
  std::uint64_t peer_events = 0;
  std::map<std::string, std::uint64_t> peer_faults;
  std::map<std::string, std::uint64_t> topologies;

  void add(const swarm::PeerPlan& plan, const peer::Outcome& result) {
    const bool ring = plan.options.kind == peers::Kind::kRing;
    ++topologies[ring ? "ring" : std::string("gossip, ") + swarm::averaging_of(plan)];
    peer_events += result.events;
    peer_faults["worker crashed"] += result.counts.crashed;
    peer_faults["living worker lost"] += result.counts.silenced;
    peer_faults["connection closed"] += result.counts.connections;
    peer_faults["message delayed"] += result.counts.delayed;
    peer_faults["sum broken off"] += result.counts.broken_sums;
    peer_faults["worker caught up"] += result.counts.caught_up;
  }

  void add(const swarm::Plan& plan, const swarm::Outcome& outcome) {
    ++seeds;
    events += outcome.events;
    events_least = std::min(events_least, outcome.events);
    simulated += outcome.simulated;
    updates += outcome.updates;
    ++policies[Spec::parse(plan.policy).name];
    const sim::FaultCounts& found = outcome.faults;
    const sim::MessageFaults::Counts& messages = found.messages;
    for (const auto& [kind, times] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
             {"worker joined late", found.joined_late},
             {"worker crashed", found.crashed},
             {"worker left", found.left},
             {"worker slowed", found.slowed},
             {"worker paused", found.paused},
             {"hang", found.hung},
             {"living worker set aside as stalled", found.stalled},
             {"living worker presumed dead", found.presumed_dead},
             {"server died", found.servers},
             {"worker of another network refused", found.foreign},
             {"second process of a worker refused", found.doubles},
             {"evaluator came", found.evaluators},
             {"link cut", messages.cut},
             {"message held by a cut", messages.held},
             {"message delayed", messages.delayed},
             {"message lost", messages.lost},
             {"message duplicated", messages.duplicated},
             {"message reordered", messages.reordered},
             {"gradient not finite", outcome.refused}}) {
      faults[kind] += times;
    }
  }
};

struct Failed {
  std::uint64_t seed;
  std::string what;
  std::string report;
};

class Swarm {
 public:
  Swarm(Seeds seeds, std::optional<steady_clock::time_point> deadline)
      : seeds_(seeds), deadline_(deadline), next_(seeds.first) {}

  void run(std::uint32_t jobs) {
    std::vector<std::jthread> threads;
    for (std::uint32_t job = 0; job < jobs; ++job) {
      threads.emplace_back([this] { work(); });
    }
  }

  // REQUIRES: run() has ended.
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] const std::optional<Failed>& failed() const { return failed_; }

 private:
  void work() {
    for (std::uint64_t seed = next_++; seed <= seeds_.last && !stop_; seed = next_++) {
      if (deadline_ && steady_clock::now() >= *deadline_) {
        return;
      }
      announce(seed);
      const swarm::Plan plan = swarm::draw_plan(seed);
      const swarm::Outcome outcome = swarm::run_trial(plan);
      const swarm::PeerPlan peer_plan = swarm::draw_peer_plan(seed);
      const swarm::PeerOutcome peers = swarm::run_peer_trial(peer_plan);
      const std::lock_guard lock(mutex_);
      if (outcome.failure) {
        fail({seed, outcome.failure->what, swarm::report(plan, *outcome.failure, kCommit)});
      } else if (peers.failure) {
        fail({seed, peers.failure->what, swarm::report(peer_plan, *peers.failure, kCommit)});
      } else {
        totals_.add(plan, outcome);
        totals_.add(peer_plan, peers.result);
      }
    }
  }

  // REQUIRES: mutex_ is held.
  void fail(const Failed& failed) {
    stop_ = true;
    if (!failed_ || failed.seed < failed_->seed) {
      failed_ = failed;
    }
  }

  // Constant after construction.
  const Seeds seeds_;
  const std::optional<steady_clock::time_point> deadline_;
  // Shared by the threads.
  std::atomic<std::uint64_t> next_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // Guards what follows.
  Totals totals_;
  std::optional<Failed> failed_;
};

nlohmann::ordered_json to_json(const Totals& totals, double wall_seconds) {
  return {{"seeds", totals.seeds},
          {"events", totals.events},
          {"events_least", totals.seeds == 0 ? 0 : totals.events_least},
          {"updates", totals.updates},
          {"simulated_hours", to_seconds(totals.simulated) / 3600.0},
          {"wall_seconds", wall_seconds},
          {"policies", totals.policies},
          {"faults", totals.faults},
          {"without_server",
           {{"events", totals.peer_events},
            {"topologies", totals.topologies},
            {"faults", totals.peer_faults}}}};
}

void print(const Totals& totals, double wall_seconds) {
  fmt::print("{} seeds, {} events (at least {} each), {} updates, {:.4g} simulated hours\n",
             totals.seeds,
             totals.events,
             totals.seeds == 0 ? 0 : totals.events_least,
             totals.updates,
             to_seconds(totals.simulated) / 3600.0);
  fmt::print("no invariant was broken; {:.1f} s, {:.0f} seeds a minute\n",
             wall_seconds,
             60.0 * static_cast<double>(totals.seeds) / wall_seconds);
  for (const auto& [name, seeds] : totals.policies) {
    fmt::print("  {:<30} {:>10} seeds\n", name, seeds);
  }
  for (const auto& [kind, times] : totals.faults) {
    fmt::print("  {:<30} {:>10} times\n", kind, times);
  }
  fmt::print("the same seeds without a server: {} events\n", totals.peer_events);
  for (const auto& [name, seeds] : totals.topologies) {
    fmt::print("  {:<30} {:>10} seeds\n", name, seeds);
  }
  for (const auto& [kind, times] : totals.peer_faults) {
    fmt::print("  {:<30} {:>10} times\n", kind, times);
  }
}

// Throws a usage error that names the option, or an error with the seed that failed and the command
// that repeats it.
int run_swarm(const SwarmWords& words) {
  const Seeds seeds = parse_seeds(words.seeds);
  static_cast<void>(std::signal(SIGABRT, say_which_seed));
  const auto begun = steady_clock::now();
  Swarm run(
      seeds,
      words.time_budget > Duration{} ? std::optional(begun + words.time_budget) : std::nullopt);
  run.run(words.jobs);
  if (const auto& failed = run.failed()) {
    fmt::print(stderr, "{}", failed->report);
    throw Error(ExitCode::kFailure, fmt::format("seed {} breaks {}", failed->seed, failed->what));
  }
  const double wall = std::chrono::duration<double>(steady_clock::now() - begun).count();
  if (words.json) {
    fmt::print("{}\n", to_json(run.totals(), wall).dump());
  } else {
    print(run.totals(), wall);
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace

Run add_swarm(job::OptionList& list) {
  auto words = std::make_shared<SwarmWords>();
  list.add("seeds",
           words->seeds,
           "Seeds to run, a random job each: FIRST..LAST, both included, or one seed")
      .type("RANGE");
  list.add("time-budget", words->time_budget, "Stop after this time; 0s: no limit");
  list.add("jobs", words->jobs, "Number of seeds to run at a time").between(1, kJobsMost);
  list.add("json", words->json, "Print the result as one JSON object");
  return [words](const job::OptionList& /*chosen*/) { return run_swarm(*words); };
}

}  // namespace outpace::lab_cli
