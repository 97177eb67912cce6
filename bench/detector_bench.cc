// How well watch::SlowWatch finds workers that become slow, on seeded traces: `make
// bench-detector`.
//
// The traces are those of tools/make_delays.py: calm (a little noise), fixed (a quarter of the
// machines is always slower) and drifting (the slowness of each machine wanders). In a run with a
// slowdown, one worker of a machine that is not slow takes `factor` times as long from iteration
// kBegins on. Found: it is named within kWithin iterations. False alarms are counted in runs
// without a slowdown; an iteration is one mini-batch of one worker.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/rng.h"
#include "watch/slow_watch.h"

namespace outpace {
namespace {

constexpr double kNoise = 0.1;
constexpr std::uint32_t kMachines = 4;
constexpr int kBegins = 200;  // Iterations of each worker before the slowdown.
constexpr int kWithin = 20;
constexpr int kLooksFor = 200;

enum class Regime { kCalm, kFixed, kDrifting };

class Cluster {
 public:
  Cluster(Regime regime, std::uint32_t workers, std::uint64_t seed)
      : regime_(regime), workers_(workers), drift_(kMachines), rng_(seed, 0) {
    for (double& one : drift_) {
      one = rng_.normal();
    }
  }

  // The next runtime of each worker.
  std::vector<double> next() {
    const double keep = std::exp(-1.0 / 150.0);
    std::vector<double> row(workers_);
    for (std::uint32_t worker = 0; worker < workers_; ++worker) {
      row[worker] =
          0.02 * slowdown(worker * kMachines / workers_) * std::exp(kNoise * rng_.normal());
    }
    for (double& one : drift_) {
      one = keep * one + std::sqrt(1.0 - keep * keep) * rng_.normal();
    }
    return row;
  }

 private:
  [[nodiscard]] double slowdown(std::uint32_t machine) const {
    switch (regime_) {
      case Regime::kCalm:
        return 1.0;
      case Regime::kFixed:
        return machine + 1 == kMachines ? 4.0 : 1.0;
      case Regime::kDrifting:
        return std::exp(std::max(0.0, drift_[machine]));
    }
    return 1.0;
  }

  const Regime regime_;
  const std::uint32_t workers_;
  std::vector<double> drift_;
  Rng rng_;
};

struct Found {
  int runs = 0;
  int named = 0;    // Within kLooksFor iterations,
  int in_time = 0;  // and within kWithin.
  std::vector<int> delays;
};

Found find_slowdowns(Regime regime, std::uint32_t workers, double factor, int runs) {
  Found found{.runs = runs};
  for (int run = 0; run < runs; ++run) {
    Cluster cluster(regime, workers, static_cast<std::uint64_t>(run) + 1);
    watch::SlowWatch watch;
    int named = 0;
    for (int i = 0; i < kBegins + kLooksFor && named == 0; ++i) {
      const std::vector<double> row = cluster.next();
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        const bool slowed = worker == 0 && i >= kBegins;
        const auto change =
            watch.see(WorkerId{worker}, row[worker] * (slowed ? factor : 1.0), false);
        if (slowed && change && change->worker == WorkerId{0} &&
            change->change == watch::Change::kSlow) {
          named = i - kBegins + 1;
        }
      }
    }
    found.named += named > 0 ? 1 : 0;
    found.in_time += named > 0 && named <= kWithin ? 1 : 0;
    if (named > 0) {
      found.delays.push_back(named);
    }
  }
  return found;
}

struct Alarms {
  double iterations = 0.0;
  int workers = 0;
  int cluster = 0;
};

Alarms false_alarms(Regime regime, std::uint32_t workers, double iterations) {
  Alarms alarms;
  for (std::uint64_t seed = 1; alarms.iterations < iterations; ++seed) {
    Cluster cluster(regime, workers, seed * 7919);
    watch::SlowWatch watch;
    for (int i = 0; i < 2000; ++i) {
      const std::vector<double> row = cluster.next();
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        const auto change = watch.see(WorkerId{worker}, row[worker], false);
        if (change && change->change == watch::Change::kSlow) {
          (change->worker ? alarms.workers : alarms.cluster) += 1;
        }
      }
      alarms.iterations += workers;
    }
  }
  return alarms;
}

void print_tables() {
  struct Named {
    Regime regime;
    const char* name;
  };
  constexpr Named kRegimes[] = {
      {Regime::kCalm, "calm"}, {Regime::kFixed, "fixed"}, {Regime::kDrifting, "drifting"}};
  constexpr std::uint32_t kWorkers[] = {8, 32, 158};
  std::printf(
      "| trace | workers | slowdown | found | within %d iterations | delay: median | 95 %% |\n"
      "|---|---|---|---|---|---|---|\n",
      kWithin);
  for (const Named& one : kRegimes) {
    for (const std::uint32_t workers : kWorkers) {
      for (const double factor : {1.3, 1.5, 2.0, 3.0, 4.0}) {
        Found found = find_slowdowns(one.regime, workers, factor, workers > 100 ? 200 : 1000);
        std::sort(found.delays.begin(), found.delays.end());
        const auto at = [&found](double share) {
          return found.delays.empty() ? std::string("-")
                                      : std::to_string(found.delays[static_cast<std::size_t>(
                                            share * static_cast<double>(found.delays.size() - 1))]);
        };
        std::printf("| %s | %u | %.1fx | %.1f %% | %.1f %% | %s | %s |\n",
                    one.name,
                    workers,
                    factor,
                    100.0 * found.named / found.runs,
                    100.0 * found.in_time / found.runs,
                    at(0.5).c_str(),
                    at(0.95).c_str());
      }
    }
  }
  std::printf(
      "\n| trace, no slowdown | workers | iterations | alarms of a worker | in 10,000 iterations | "
      "of the cluster |\n"
      "|---|---|---|---|---|---|\n");
  for (const Named& one : kRegimes) {
    for (const std::uint32_t workers : kWorkers) {
      const Alarms alarms = false_alarms(one.regime, workers, 2e6);
      std::printf("| %s | %u | %.0f | %d | %.4f | %d |\n",
                  one.name,
                  workers,
                  alarms.iterations,
                  alarms.workers,
                  1e4 * alarms.workers / alarms.iterations,
                  alarms.cluster);
    }
  }
}

}  // namespace
}  // namespace outpace

int main() {
  outpace::print_tables();
  return 0;
}
