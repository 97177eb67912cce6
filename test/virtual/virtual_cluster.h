// A cluster in virtual time for tests: the real coordinator, shard and worker inboxes, with message
// delays and runtimes drawn from a seed, and workers that die, come back and repeat their pushes.
//
// Gradients are a ledger: example e adds one to number e, in whole numbers that float32 holds
// exactly, so that the final weights say how often each example was applied.

#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "policy/catalogue.h"
#include "server/coordinator.h"
#include "server/driver.h"
#include "server/shard.h"
#include "worker/inbox.h"
#include "worker/order.h"

namespace outpace::server {

struct VirtualOptions {
  std::string policy = "async";
  std::uint32_t workers = 4;
  std::uint32_t batch = 4;
  std::uint64_t examples = 64;
  Limits limits;
  std::uint64_t seed = 1;
  bool with_replacement = false;
  std::string staleness = "none";
  Duration latency{};                  // Each message takes up to so long, at random.
  double repeated_push = 0.0;          // Probability that a push is sent twice.
  double not_finite = 0.0;             // Probability that a gradient is refused.
  double delivered_after_death = 0.0;  // Probability that a dead worker's message still arrives.
  // Seconds of a worker's next full mini-batch.
  std::function<double(WorkerId, Rng&)> runtime = [](WorkerId, Rng& rng) {
    return 0.02 * (0.5 + rng.uniform());
  };
};

class VirtualCluster {
 public:
  explicit VirtualCluster(const VirtualOptions& options)
      : options_(options),
        rng_(options.seed, 7),
        shard_({.optimizer = Spec::parse("sgd")}, std::vector<float>(options.examples, 0.0F)),
        order_(options.examples, options.seed, options.with_replacement),
        workers_(options.workers) {
    auto policy = policy::make_policy(Spec::parse(options.policy), options.workers);
    const double nominal = double(options.batch) * double(policy->nominal_cutoff(options.workers));
    CoordinatorOptions coordinator{.job = 42,
                                   .workers = options.workers,
                                   .batch = options.batch,
                                   .examples = options.examples,
                                   .seed = options.seed,
                                   .with_replacement = options.with_replacement,
                                   .limits = options.limits,
                                   .rate = nominal,
                                   .rate_scale = update::RateScale::kLinear,
                                   .evaluate_every = 16};
    coordinator.staleness = update::StalenessRule::parse(Spec::parse(options.staleness));
    coordinator_.emplace(coordinator, std::move(policy), nullptr, now_);
  }

  // Lets a worker join (again), as a newer incarnation, `after` from now.
  void join(std::uint32_t worker, Duration after = {}) {
    at(now_ + after, [this, worker] { join_now(worker); });
  }
  // Ends a worker: the server notices at once, as with a broken connection.
  void kill(std::uint32_t worker, Duration after = {}) {
    at(now_ + after, [this, worker] { kill_now(worker); });
  }
  void start() {
    for (std::uint32_t worker = 0; worker < options_.workers; ++worker) {
      join(worker);
    }
  }
  // Runs until the end of the run, or until `events` are done; false if nothing is left to happen.
  bool run(std::uint64_t events = 1'000'000) {
    while (!coordinator_->finished() && events-- > 0) {
      if (queue_.empty()) {
        return false;
      }
      auto first = queue_.begin();
      now_ = first->first.first;
      const auto what = std::move(first->second);
      queue_.erase(first);
      what();
    }
    return true;
  }

  [[nodiscard]] const Coordinator& coordinator() const { return *coordinator_; }
  [[nodiscard]] const Statistics& statistics() const { return coordinator_->statistics(); }
  // How often each example was applied.
  [[nodiscard]] std::vector<float> ledger() const {
    std::vector<float> uses(shard_.weights().begin(), shard_.weights().end());
    for (float& use : uses) {
      use = -use;
    }
    return uses;
  }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] const std::optional<Finish>& finish() const { return finish_; }
  [[nodiscard]] std::uint64_t verdicts(protocol::Outcome outcome) const {
    const auto found = verdicts_.find(outcome);
    return found == verdicts_.end() ? 0 : found->second;
  }
  Rng& rng() { return rng_; }

 private:
  struct Worker {
    bool alive = false;
    std::uint32_t incarnation = 0;
    worker::Inbox inbox;
    Time begun{};
    double full_seconds = 0.0;
    std::optional<protocol::Release> task;
  };

  void at(Time time, std::function<void()> what) {
    queue_.emplace(std::pair{time, ++ids_}, std::move(what));
  }
  Duration delay() {
    return Duration{
        static_cast<std::int64_t>(rng_.uniform() * static_cast<double>(options_.latency.count()))};
  }

  void join_now(std::uint32_t id) {
    Worker& worker = workers_[id];
    if (worker.alive) {
      return;
    }
    worker = {.alive = true, .incarnation = worker.incarnation + 1};
    Effects effects;
    const bool joined = coordinator_->join(
        now_,
        {.worker = WorkerId{id}, .incarnation = worker.incarnation, .host = "virtual"},
        effects);
    CHECK(joined);
    carry_out(effects);
  }
  void kill_now(std::uint32_t id) {
    if (!workers_[id].alive) {
      return;
    }
    workers_[id].alive = false;
    Effects effects;
    coordinator_->leave(
        now_, WorkerId{id}, workers_[id].incarnation, policy::Departure::kDead, effects);
    carry_out(effects);
  }

  void carry_out(Effects& effects) {
    server::carry_out(effects,
                      &shard_,
                      Overloaded{[this](const Send& sent) { deliver(sent); },
                                 [this](const Warn& warning) { warnings_.push_back(warning.text); },
                                 [this](const Finish& finish) { finish_ = finish; },
                                 Ignoring<Disconnect,
                                          TakeSnapshot,
                                          TakeCheckpoint,
                                          MeasuredNorms,
                                          Stalled,
                                          Switched,
                                          LeaveOut,
                                          HandIn>{}});
  }

  // To a worker, in order: the delay of a later message is never shorter than that of an earlier.
  void deliver(const Send& send) {
    const std::size_t id = index(send.worker);
    if (const auto* verdict = std::get_if<protocol::Verdict>(&send.message)) {
      ++verdicts_[verdict->outcome];
    }
    arrival_[id] = std::max(arrival_[id], now_ + delay());
    const std::uint32_t incarnation = workers_[id].incarnation;
    at(arrival_[id], [this, id, incarnation, message = send.message] {
      Worker& worker = workers_[id];
      if (!worker.alive || worker.incarnation != incarnation) {
        return;
      }
      std::visit([&](const auto& one) { worker.inbox.receive(one); }, message);
      if (worker.inbox.take()) {
        begin(id, worker.inbox.newest());
      }
      if (worker.task && worker.inbox.cancelled() != worker::CancelMode::kNone) {
        give_up(id, worker.inbox.cancelled());
      }
    });
  }

  void begin(std::size_t id, const protocol::Release& release) {
    Worker& worker = workers_[id];
    worker.task = release;
    worker.begun = now_;
    worker.full_seconds = options_.runtime(WorkerId{static_cast<std::uint32_t>(id)}, rng_);
    const auto examples = static_cast<double>(total_size(release.ranges));
    const Duration takes =
        from_seconds(worker.full_seconds * examples / static_cast<double>(release.nominal));
    const std::uint32_t incarnation = worker.incarnation;
    at(now_ + takes, [this, id, incarnation, sequence = release.sequence] {
      Worker& done = workers_[id];
      if (done.alive && done.incarnation == incarnation && done.task &&
          done.task->sequence == sequence) {
        push(id, static_cast<std::uint32_t>(total_size(done.task->ranges)), false);
      }
    });
  }

  void give_up(std::size_t id, worker::CancelMode mode) {
    Worker& worker = workers_[id];
    const double share = to_seconds(now_ - worker.begun) / worker.full_seconds;
    const auto done = static_cast<std::uint32_t>(share * worker.task->nominal);
    if (mode == worker::CancelMode::kKeepPart && done > 0) {
      push(id, std::min(done, static_cast<std::uint32_t>(total_size(worker.task->ranges))), true);
      return;
    }
    const protocol::GradientId identity = identity_of(id);
    worker.task.reset();
    to_server(id, [this, identity](Effects& out) { coordinator_->abandon(now_, {identity}, out); });
  }

  protocol::GradientId identity_of(std::size_t id) {
    return {.job = 42,
            .generation = 1,
            .worker = WorkerId{static_cast<std::uint32_t>(id)},
            .incarnation = workers_[id].incarnation,
            .sequence = workers_[id].task->sequence};
  }

  void push(std::size_t id, std::uint32_t examples, bool partial) {
    Worker& worker = workers_[id];
    const protocol::Push message{.id = identity_of(id),
                                 .examples = examples,
                                 .partial = partial,
                                 .loss = 1.0,
                                 .compute_seconds = 0.0};
    std::vector<float> gradient(options_.examples, 0.0F);
    const auto used = order_.examples(split_ranges(worker.task->ranges, examples).head);
    for (const std::uint64_t example : used) {
      gradient[example] += 1.0F / static_cast<float>(examples);
    }
    if (rng_.uniform() < options_.not_finite) {
      gradient[0] = INFINITY;
    }
    worker.task.reset();
    const int times = rng_.uniform() < options_.repeated_push ? 2 : 1;
    for (int time = 0; time < times; ++time) {
      to_server(id, [this, message, gradient](Effects& out) {
        const auto judgement = server::receive(shard_, *coordinator_, message, gradient);
        coordinator_->push(now_, message, judgement, out);
      });
    }
  }

  void to_server(std::size_t id, std::function<void(Effects&)> what) {
    departure_[id] = std::max(departure_[id], now_ + delay());
    const std::uint32_t incarnation = workers_[id].incarnation;
    at(departure_[id], [this, id, incarnation, what = std::move(what)] {
      const bool current = workers_[id].alive && workers_[id].incarnation == incarnation;
      if (current || rng_.uniform() < options_.delivered_after_death) {
        Effects effects;
        what(effects);
        carry_out(effects);
      }
    });
  }

  VirtualOptions options_;
  Rng rng_;
  Time now_{};
  Shard shard_;
  worker::Order order_;
  std::vector<Worker> workers_;
  std::optional<Coordinator> coordinator_;
  std::map<std::size_t, Time> arrival_;
  std::map<std::size_t, Time> departure_;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> queue_;
  std::uint64_t ids_ = 0;
  std::vector<std::string> warnings_;
  std::optional<Finish> finish_;
  std::map<protocol::Outcome, std::uint64_t> verdicts_;
};

}  // namespace outpace::server
