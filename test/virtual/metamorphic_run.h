// Runs of a simulated cluster that can be compared: the same cluster in other units of time, with
// other numbers of workers, with another latency. For metamorphic_test.cc.
//
// Runtimes are whole nanoseconds, a function of (worker's label, iteration), so that a cluster with
// all times doubled takes exactly twice as long and nothing is rounded differently.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/overloaded.h"
#include "base/rng.h"
#include "policy/catalogue.h"
#include "runtime_model/deep_weights.h"
#include "sim/cluster.h"

namespace outpace::sim {

// One cluster and one job.
struct Scene {
  std::string policy;
  // Mean seconds of a mini-batch, by label; the label of worker w is labels[w].
  std::vector<double> means;
  double cv = 0.2;                    // Coefficient of variation; below 0: exponential.
  std::vector<std::uint32_t> labels;  // Empty: each worker's own number.
  std::int64_t unit = 1;              // Every time is multiplied by this.
  Duration latency{};                 // Times unit, as all below.
  Duration apply{};
  server::Limits limits{.updates = 600};
  std::uint32_t batch = 8;
  std::uint64_t examples = 4096;
  std::uint64_t seed = 1;
  // A worker comes at its label times this, so that no two are alike in all that policies see.
  Duration apart = std::chrono::microseconds(7300);
  std::vector<std::uint32_t> absent;  // Workers that never come.
  std::vector<Fault> faults;
  std::optional<policy::BalanceOptions> balance = std::nullopt;
  std::shared_ptr<const runtime_model::DeepWeights> fitted = nullptr;
  Learning* learning = nullptr;
  double rate = 0.1;
};

// What was decided at one moment; two orders of the same decisions are equal. Workers are labels.
struct Moment {
  std::int64_t now;  // In the scene's unit.
  std::uint64_t sum;

  bool operator==(const Moment&) const = default;
};

struct Outcome {
  ClusterResult result;
  std::vector<Moment> moments;
  std::uint64_t cancels = 0;

  [[nodiscard]] double examples_per_second(const Scene& scene) const {
    return double(result.statistics.examples_applied) * double(scene.unit) /
           to_seconds(result.statistics.last_commit);
  }
  [[nodiscard]] std::vector<std::uint64_t> sums() const {
    std::vector<std::uint64_t> sums;
    for (const Moment& moment : moments) {
      sums.push_back(moment.sum);
    }
    return sums;
  }
};

class TableTiming final : public Timing {
 public:
  explicit TableTiming(const Scene& scene) : scene_(scene) {}

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override {
    const Duration whole = runtime(worker, iteration);
    return start + scene_.unit * from_seconds(to_seconds(whole) * share);
  }
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override {
    const Duration whole = scene_.unit * runtime(worker, iteration);
    return double((now - start).count()) / double(whole.count());
  }

 private:
  [[nodiscard]] Duration runtime(WorkerId worker, std::uint64_t iteration) const {
    const std::uint32_t label =
        scene_.labels.empty() ? std::uint32_t(index(worker)) : scene_.labels[index(worker)];
    Rng rng(scene_.seed + label, iteration);
    const double spread = std::sqrt(std::log1p(scene_.cv * scene_.cv));
    const double factor = scene_.cv < 0.0 ? rng.exponential()
                          : scene_.cv > 0.0
                              ? std::exp(spread * rng.normal() - 0.5 * spread * spread)
                              : 1.0;
    return from_seconds(scene_.means.at(label) * factor);
  }

  const Scene& scene_;
};

// Told of every decision: sums up what happens at one moment.
class Listener {
 public:
  explicit Listener(const Scene& scene) : scene_(scene) {}

  void decided(Time now, const policy::Event& event, const policy::Decision& decision) {
    const std::int64_t at = now.time_since_epoch().count() / scene_.unit;
    if (moments_.empty() || moments_.back().now != at) {
      moments_.push_back({at, 0});
    }
    std::uint64_t& sum = moments_.back().sum;
    sum += of(event);
    for (const policy::Action& action : decision.actions) {
      sum += of(action);
      cancels_ += std::holds_alternative<policy::Cancel>(action) ? 1U : 0U;
    }
  }
  [[nodiscard]] std::vector<Moment> take_moments() { return std::move(moments_); }
  [[nodiscard]] std::uint64_t cancels() const { return cancels_; }

 private:
  [[nodiscard]] std::uint64_t label(WorkerId worker) const {
    return scene_.labels.empty() ? index(worker) : scene_.labels[index(worker)];
  }
  template <typename... Values>
  [[nodiscard]] static std::uint64_t digest(Values... values) {
    Digest digest;
    (digest.add(values), ...);
    return digest.value();
  }
  // Timers and losses are left out: they are in other units.
  [[nodiscard]] std::uint64_t of(const policy::Event& event) const {
    return std::visit(
        Overloaded{[&](const policy::GradientArrived& arrived) {
                     return digest(std::uint64_t{1},
                                   label(arrived.worker),
                                   count(arrived.computed_on),
                                   double(arrived.examples) / double(scene_.batch));
                   },
                   [&](const policy::ReleaseEnded& ended) {
                     return digest(std::uint64_t{2}, label(ended.worker), std::uint64_t(ended.how));
                   },
                   [](const auto&) { return std::uint64_t{0}; }},
        event);
  }
  [[nodiscard]] std::uint64_t of(const policy::Action& action) const {
    return std::visit(
        Overloaded{
            [&](const policy::Accept& accept) {
              return digest(std::uint64_t{3}, label(accept.worker), accept.weight);
            },
            [&](const policy::Drop& drop) { return digest(std::uint64_t{4}, label(drop.worker)); },
            [&](const policy::Release& release) {
              return digest(std::uint64_t{5}, label(release.worker), release.share);
            },
            [&](const policy::Cancel& cancel) {
              return digest(std::uint64_t{6}, label(cancel.worker));
            },
            [](const policy::Commit&) { return std::uint64_t{7}; },
            [](const policy::Switched& switched) {
              return digest(std::uint64_t{8}, std::uint64_t{switched.to});
            },
            [](const policy::WakeAt&) { return std::uint64_t{0}; }},
        action);
  }

  const Scene& scene_;
  std::vector<Moment> moments_;
  std::uint64_t cancels_ = 0;
};

inline Outcome run(const Scene& scene) {
  const auto workers =
      std::uint32_t(scene.labels.empty() ? scene.means.size() : scene.labels.size());
  server::Limits limits = scene.limits;
  limits.seconds *= scene.unit;
  ClusterOptions options{.policy = Spec::parse(scene.policy),
                         .policy_inputs = {.balance = scene.balance, .fitted = scene.fitted},
                         .coordinator = {.workers = workers,
                                         .batch = scene.batch,
                                         .examples = scene.examples,
                                         .seed = scene.seed,
                                         .limits = limits,
                                         .rate = scene.rate,
                                         .evaluate_every = 256},
                         .shard = {.optimizer = Spec::parse("sgd")},
                         .target = {},
                         .latency = scene.unit * scene.latency,
                         .apply = scene.unit * scene.apply};
  for (std::uint32_t worker = 0; worker < workers && scene.apart != Duration{}; ++worker) {
    const std::uint32_t label = scene.labels.empty() ? worker : scene.labels[worker];
    const bool comes = std::count(scene.absent.begin(), scene.absent.end(), worker) == 0;
    options.faults.push_back(
        {.kind = Fault::Kind::kJoin,
         .worker = WorkerId{worker},
         .at = Time{comes ? label * scene.unit * scene.apart : std::chrono::hours(24 * 365)}});
  }
  for (Fault fault : scene.faults) {
    fault.at = Time{scene.unit * fault.at.time_since_epoch()};
    if (fault.lasts) {
      *fault.lasts *= scene.unit;
    }
    options.faults.push_back(fault);
  }
  TableTiming timing(scene);
  Listener listener(scene);
  Cluster cluster(
      options,
      timing,
      scene.learning,
      [&](Time now, const policy::Event& event, const policy::Decision& decision) {
        listener.decided(now, event, decision);
      },
      nullptr);
  Outcome outcome{.result = cluster.run(), .moments = listener.take_moments()};
  outcome.cancels = listener.cancels();
  return outcome;
}

}  // namespace outpace::sim
