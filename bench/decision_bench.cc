// How long a policy takes to decide about one event, among 158 workers whose runtimes drift: each
// decide() of some thousand updates is timed by itself, because it is the slowest of a hundred that
// an update may wait for.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/spec.h"
#include "base/time.h"
#include "policy/catalogue.h"
#include "policy/policy.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kNominal = 32;

// Carries out what the policy decides, in virtual time. Gradients have the noise of ten.
class TimedRun {
 public:
  TimedRun(const std::string& spec, std::uint32_t workers)
      : policy_(make_policy(Spec::parse(spec), workers)), slowness_(workers), open_(workers) {
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      pass(WorkerJoined{WorkerId{worker}});
    }
  }

  void run(std::uint64_t answers) {
    for (std::uint64_t i = 0; i < answers; ++i) {
      const auto first = due_.begin();
      now_ = std::max(now_, first->first);
      const std::uint32_t worker = first->second;
      due_.erase(first);
      if (worker == kTimer) {
        pass(TimerFired{});
        continue;
      }
      Open& open = open_[worker];
      const Duration took = now_ - open.released;
      if (std::exchange(open.cancelled, false)) {
        pass(ReleaseEnded{
            .worker = WorkerId{worker}, .release = open.release, .how = Ending::kAbandoned});
      } else {
        pass(GradientArrived{.worker = WorkerId{worker},
                             .release = open.release,
                             .computed_on = open.version,
                             .examples = kNominal,
                             .nominal = kNominal,
                             .partial = false,
                             .runtime = took});
      }
    }
  }

  // In microseconds; sorted.
  std::vector<double> times() {
    std::sort(times_.begin(), times_.end());
    return times_;
  }

 private:
  static constexpr std::uint32_t kTimer = UINT32_MAX;
  struct Open {
    Sequence release{};
    Version version{};
    Time released{};
    bool cancelled = false;
  };

  void pass(const Event& event) {
    const auto before = std::chrono::steady_clock::now();
    policy_->decide(now_, event, decision_);
    times_.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before)
            .count());
    std::uint32_t committed = 0;
    for (const Action& action : decision_.actions) {
      if (std::holds_alternative<Accept>(action)) {
        ++accepted_;
      } else if (std::holds_alternative<Commit>(action)) {
        version_ = next(version_);
        committed = std::exchange(accepted_, 0);
      } else if (const auto* released = std::get_if<Release>(&action)) {
        release(index(released->worker));
      } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
        cancel_release(index(cancel->worker));
      } else if (const auto* wake = std::get_if<WakeAt>(&action)) {
        due_.emplace(wake->time, kTimer);
      }
    }
    if (committed > 0 && policy_->asks_for_norms() &&
        (committed > 1 || ++lone_ % kNormGroup == 0)) {
      const double mean = std::sqrt(1.0 + 10.0 / gradients_of_norms(committed));
      pass(Measured{Measure::kSingleGradientNorm, std::sqrt(11.0), version_});
      pass(Measured{Measure::kGradientNorm, mean, version_});
    }
  }

  void release(std::size_t worker) {
    double& slowness = slowness_[worker];
    slowness = 0.99 * slowness + 0.14 * rng_.normal();
    const double seconds = 0.02 * std::exp(std::max(0.0, slowness) + 0.1 * rng_.normal());
    open_[worker] = {.release = Sequence{++releases_}, .version = version_, .released = now_};
    due_.emplace(now_ + from_seconds(seconds), static_cast<std::uint32_t>(worker));
  }

  void cancel_release(std::size_t worker) {
    const auto mine = std::find_if(
        due_.begin(), due_.end(), [worker](const auto& due) { return due.second == worker; });
    due_.erase(mine);
    open_[worker].cancelled = true;
    due_.emplace(now_, static_cast<std::uint32_t>(worker));
  }

  std::unique_ptr<Policy> policy_;
  Decision decision_;
  Rng rng_{1, 0};
  std::vector<double> slowness_;
  std::vector<Open> open_;
  std::multimap<Time, std::uint32_t> due_;
  Time now_{};
  Version version_{};
  std::uint64_t releases_ = 0;
  std::uint32_t accepted_ = 0;
  std::uint64_t lone_ = 0;
  std::vector<double> times_;
};

void measure(const std::string& spec, std::uint32_t workers) {
  constexpr std::uint64_t kAnswers = 300'000;
  TimedRun run(spec, workers);
  run.run(kAnswers);
  const std::vector<double> times = run.times();
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("%-28s %7u %9zu %9.2f %9.1f %9.1f %9.0f\n",
              spec.c_str(),
              workers,
              times.size(),
              at(0.5),
              at(0.99),
              at(0.999),
              at(1.0));
}

}  // namespace
}  // namespace outpace::policy

int main() {
  std::printf("%-28s %7s %9s %9s %9s %9s %9s\n",
              "microseconds to decide",
              "workers",
              "decisions",
              "median",
              "99 %",
              "99.9 %",
              "longest");
  for (const char* spec : {"sync", "saps", "dynamic", "dynamic:objective=progress", "auto"}) {
    outpace::policy::measure(spec, 158);
  }
  return EXIT_SUCCESS;
}
