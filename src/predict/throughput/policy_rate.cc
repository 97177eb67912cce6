#include "throughput/policy_rate.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/time.h"
#include "policy/catalogue.h"

namespace outpace::throughput {
namespace {

class PolicyRun {
 public:
  explicit PolicyRun(const PolicyRateOptions& options)
      : options_(options),
        policy_(policy::make_policy(options.policy, options.workers)),
        workers_(options.workers) {
    for (std::uint32_t worker = 0; worker < options.workers; ++worker) {
      workers_[worker].id = worker;
      decide(policy::WorkerJoined{WorkerId{worker}});
    }
  }

  double rate() {
    const std::uint64_t warm_up = options_.gradients / 5;
    std::optional<Point> begin;
    Point last{};
    Point end{};
    while (arrivals_ < options_.gradients && step()) {
      if (!committed_) {
        continue;
      }
      committed_ = false;
      const double now = to_seconds(now_.time_since_epoch());
      if (now > last.seconds) {  // Updates at one moment count together.
        end = last;
        begin = begin || arrivals_ < warm_up ? begin : std::optional(last);
      }
      last = {now, accepted_};
    }
    return begin && end.seconds > begin->seconds
               ? (end.accepted - begin->accepted) / (end.seconds - begin->seconds)
               : 0.0;
  }

 private:
  // Examples of a full mini-batch; a partial gradient has whole examples.
  static constexpr std::uint32_t kNominal = 1000;

  struct Point {
    double seconds;
    double accepted;
  };
  struct Worker {
    std::uint32_t id = 0;
    bool computing = false;
    bool cancelled = false;
    std::uint64_t release = 0;  // The last one.
    std::uint64_t version = 0;
    Time began{};
    Duration length{};
    double share = 1.0;
    double held = 0.0;  // The share of a full mini-batch in the gradient that arrived.
  };
  // When, whose, and of which release: one that was cancelled does not arrive.
  using Arrival = std::tuple<Time, std::uint32_t, std::uint64_t>;

  // False if nothing can happen any more.
  bool step() {
    if (!cancelled_.empty()) {
      const auto [worker, part] = cancelled_.front();
      cancelled_.pop();
      end(workers_[worker], part);
      return true;
    }
    const bool timer = wake_at_ && (next_.empty() || *wake_at_ < std::get<0>(next_.top()));
    if (timer) {
      now_ = std::max(now_, *wake_at_);
      wake_at_.reset();
      decide(policy::TimerFired{});
      return true;
    }
    if (next_.empty()) {
      return false;
    }
    const auto [when, worker, release] = next_.top();
    next_.pop();
    const Worker& state = workers_[worker];
    if (state.computing && !state.cancelled && state.release == release) {
      now_ = when;
      end(workers_[worker], workers_[worker].share);
    }
    return true;
  }

  // The worker's release ends with this part of a full mini-batch.
  void end(Worker& worker, double part) {
    const auto whole = static_cast<std::uint32_t>(std::max(1.0, worker.share * kNominal));
    const auto examples = std::min(whole, static_cast<std::uint32_t>(part * kNominal));
    worker.computing = worker.cancelled = false;
    ++arrivals_;
    const WorkerId id{worker.id};
    if (examples == 0) {
      decide(policy::ReleaseEnded{id, Sequence{worker.release}, policy::Ending::kAbandoned});
      return;
    }
    worker.held = static_cast<double>(examples) / kNominal;
    decide(policy::GradientArrived{.worker = id,
                                   .release = Sequence{worker.release},
                                   .computed_on = Version{worker.version},
                                   .examples = examples,
                                   .nominal = kNominal,
                                   .partial = part < worker.share,
                                   .runtime = now_ - worker.began});
  }

  void decide(const policy::Event& event) {
    policy_->decide(now_, event, decision_);
    for (const policy::Action& action : decision_.actions) {
      std::visit(Overloaded{[&](const policy::Accept& accept) {
                              accepted_ += workers_[index(accept.worker)].held;
                            },
                            [&](const policy::Commit&) {
                              ++version_;
                              committed_ = true;
                            },
                            [&](const policy::Release& release) { begin(release); },
                            [&](const policy::Cancel& cancel) { this->cancel(cancel); },
                            [&](const policy::WakeAt& wake) { wake_at_ = wake.time; },
                            [](const policy::Drop&) {},
                            [](const policy::Switched&) {}},
                 action);
    }
  }

  void begin(const policy::Release& release) {
    Worker& worker = workers_[index(release.worker)];
    const double seconds = release.share * options_.seconds(worker.id, worker.release);
    ++worker.release;
    worker.computing = true;
    worker.version = version_;
    worker.began = now_;
    worker.length = from_seconds(seconds);
    worker.share = release.share;
    next_.emplace(now_ + worker.length, worker.id, worker.release);
  }

  void cancel(const policy::Cancel& cancel) {
    Worker& worker = workers_[index(cancel.worker)];
    if (!worker.computing || worker.cancelled) {
      return;
    }
    worker.cancelled = true;
    const double done = to_seconds(now_ - worker.began) / to_seconds(worker.length);
    cancelled_.emplace(worker.id, cancel.keep_part ? worker.share * done : 0.0);
  }

  const PolicyRateOptions& options_;
  const std::unique_ptr<policy::Policy> policy_;
  std::vector<Worker> workers_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> next_;
  std::queue<std::pair<std::uint32_t, double>> cancelled_;  // Workers, and the part they have.
  std::optional<Time> wake_at_;
  policy::Decision decision_;
  Time now_{};
  std::uint64_t version_ = 0;
  std::uint64_t arrivals_ = 0;
  double accepted_ = 0.0;
  bool committed_ = false;
};

}  // namespace

double policy_rate(const PolicyRateOptions& options) {
  CHECK(options.gradients >= 10);
  return PolicyRun(options).rate();
}

}  // namespace outpace::throughput
