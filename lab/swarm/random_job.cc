#include "swarm/random_job.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "policy/auto_candidates.h"
#include "policy/catalogue.h"
#include "swarm/draw.h"

namespace outpace::swarm {
namespace {

constexpr std::uint64_t kStream = 0x737761726d;

// One in fifteen changes once or twice, early or late among the gradients of a run; as many choose
// for themselves.
std::string draw_policy(Draw& draw, std::uint32_t workers, Duration mean) {
  if (!draw.one_in(15)) {
    return draw.one_in(15) ? policy::kAuto : policy::draw_phase(draw.rng(), workers);
  }
  std::string policy = "switch(" + policy::draw_phase(draw.rng(), workers);
  for (std::uint64_t left = draw.between(1, 2); left > 0; --left) {
    const double seconds = to_seconds(draw.between(Duration{}, 150 * mean));
    policy += draw.one_in(2) ? " until updates>" + std::to_string(draw.between(0, 500))
                             : " until seconds>" + std::to_string(seconds);
    policy += " then " + policy::draw_phase(draw.rng(), workers);
  }
  return policy + ")";
}

std::string draw_runtime(Draw& draw, std::uint32_t workers, Duration mean) {
  const std::string about = "mean=" + words(mean);
  switch (draw.between(0, 6)) {
    case 0:
      return "constant(" + words(mean) + ")";
    case 1:
      return "exponential(" + about + ")";
    case 2:
      return "gamma(" + about + ",cv=0.5)";
    case 3:
      return "pareto(" + about + ",shape=2.5)";
    case 4:
      return "markov(fast=lognormal(" + about + ",cv=0.1),slow=constant(" + words(5 * mean) +
             "),fast_for=" + words(40 * mean) + ",slow_for=" + words(10 * mean) + ")";
    case 5: {
      if (workers == 1) {
        return "lognormal(" + about + ",cv=0.3)";
      }
      const std::uint64_t slow = draw.between(1, workers - 1);
      return std::to_string(workers - slow) + "*lognormal(" + about + ",cv=0.2)," +
             std::to_string(slow) + "*constant(" + words(draw.between(2, 8) * mean) + ")";
    }
    default:
      return "mixture(0.9*constant(" + words(mean) + "),0.1*exponential(" + words(4 * mean) + "))";
  }
}

// The faults of a plan, of a random subset of the kinds. All is over by `healed`.
class Faults {
 public:
  Faults(Draw& draw, Plan& plan, Duration mean) : draw_(draw), plan_(plan), mean_(mean) {
    const Duration whole = plan.healed.time_since_epoch();
    most_ = whole / 10 * 7;  // Faults begin in the first 70 %; they recover in the rest.
    long_ = whole / 10;
  }

  // Not a worker that leaves, nor the only one.
  void add_joins() {
    const std::uint64_t stay = plan_.workers - plan_.leavers.size();
    for (std::uint64_t left = stay > 1 && draw_.one_in(2) ? draw_.between(1, 3) : 0; left > 0;
         --left) {
      plan_.faults.push_back("join:worker=" + std::to_string(draw_.between(1, stay - 1)) + at());
    }
  }

  // Each is back by `healed`.
  void add_servers() {
    for (std::uint64_t left = draw_.one_in(3) ? draw_.between(1, 3) : 0; left > 0; --left) {
      plan_.faults.push_back("server:" + at().substr(1) + lasts());
      plan_.checkpoint_every = draw_.between(1, 40);
    }
  }

  // Peers that are none of the workers.
  void add_greetings() {
    for (const char* kind : {"foreign", "double"}) {
      for (std::uint64_t left = draw_.one_in(2) ? draw_.between(1, 3) : 0; left > 0; --left) {
        plan_.faults.push_back(std::string(kind) + ":" + any_worker() + at());
      }
    }
    for (std::uint64_t left = draw_.one_in(2) ? draw_.between(1, 3) : 0; left > 0; --left) {
      plan_.faults.push_back("evaluator:" + at().substr(1) + lasts());
    }
  }

  // Hanging workers whose hearts go on: the server must find out by the progress timeout.
  void add_hangs() {
    for (std::uint64_t left = draw_.one_in(2) ? draw_.between(1, 3) : 0; left > 0; --left) {
      const Duration whole = plan_.healed.time_since_epoch();
      const std::string begins = words(draw_.between(Duration{}, whole / 2));
      const std::string lasts = words(draw_.between(std::chrono::milliseconds(1), whole / 10 * 4));
      std::string fault = "hang:" + any_worker();
      fault.append(",at=").append(begins).append(",for=").append(lasts);
      plan_.faults.push_back(std::move(fault));
    }
    if (!draw_.one_in(4)) {  // More than any mini-batch takes that is not held up.
      plan_.progress_timeout = draw_.between(20 * mean_, 40 * mean_);
    }
  }

  void add() {
    for (const auto kind : {&Faults::crash,
                            &Faults::leave,
                            &Faults::slow,
                            &Faults::pause,
                            &Faults::partition,
                            &Faults::clog,
                            &Faults::delay,
                            &Faults::lose,
                            &Faults::duplicate,
                            &Faults::reorder}) {
      for (std::uint64_t left = draw_.one_in(2) ? draw_.between(1, 3) : 0; left > 0; --left) {
        (this->*kind)();
      }
    }
  }

 private:
  void crash() { plan_.faults.push_back("crash:" + worker() + at() + lasts()); }
  void leave() {
    const std::uint32_t leaver =
        static_cast<std::uint32_t>(plan_.workers - 1 - plan_.leavers.size());
    // Some stay. Workers below crashing_ may crash and come back, so they do not leave.
    if (plan_.leavers.size() + 1 < plan_.workers && leaver >= crashing_) {
      plan_.faults.push_back((draw_.one_in(2) ? "leave:worker=" : "crash:worker=") +
                             std::to_string(leaver) + at());
      plan_.leavers.push_back(leaver);
    }
  }
  void slow() {
    plan_.faults.push_back("slow:" + any_worker() + at() + lasts() +
                           ",factor=" + std::to_string(draw_.between(2, 8)));
  }
  void pause() { plan_.faults.push_back("pause:" + any_worker() + at() + lasts()); }
  void partition() {
    static constexpr std::array<const char*, 3> kWays{"both", "to_server", "to_worker"};
    std::string chosen;
    for (std::uint32_t id = 0; id < plan_.workers; ++id) {
      if (draw_.one_in(2)) {
        chosen += (chosen.empty() ? "" : "+") + std::to_string(id);
      }
    }
    plan_.faults.push_back("partition:workers=" + (chosen.empty() ? "0" : chosen) + at() + lasts() +
                           ",way=" + draw_.one_of(kWays));
  }
  void clog() {
    plan_.faults.push_back("clog:" + at().substr(1) + lasts() + ",share=0." +
                           std::to_string(draw_.between(1, 9)) +
                           ",step=" + words(draw_.between(Duration{}, long_ / plan_.workers)));
  }
  void delay() { of_messages("delay", draw_.between(1, 9), ",by=" + words(some())); }
  void lose() { of_messages("lose", draw_.between(1, 4), ""); }
  void duplicate() { of_messages("duplicate", draw_.between(10, 60), ",by=" + words(some())); }
  void reorder() { of_messages("reorder", draw_.between(10, 60), ",by=" + words(some())); }

  void of_messages(const std::string& name, std::uint64_t percent, const std::string& rest) {
    plan_.faults.push_back(name + ":" + at().substr(1) + lasts() + ",probability=" +
                           std::to_string(static_cast<double>(percent) / 100.0) + rest);
  }
  [[nodiscard]] std::string at() { return ",at=" + words(draw_.between(Duration{}, most_)); }
  [[nodiscard]] std::string lasts() {
    return ",for=" + words(draw_.between(std::chrono::milliseconds(1), long_));
  }
  // How late a message may be: about as long as some mini-batches.
  [[nodiscard]] Duration some() {
    return std::min(long_, draw_.between(std::chrono::microseconds(1), 10 * mean_));
  }
  [[nodiscard]] std::string any_worker() {
    return "worker=" + std::to_string(draw_.between(0, plan_.workers - 1));
  }
  // Not one of those that may leave.
  [[nodiscard]] std::string worker() {
    crashing_ = std::max(1U, plan_.workers / 2);
    return "worker=" + std::to_string(draw_.between(0, crashing_ - 1));
  }

  Draw& draw_;
  Plan& plan_;
  Duration mean_;
  Duration most_;
  Duration long_;
  std::uint32_t crashing_ = 0;  // Workers below it may crash, and do not leave.
};

void draw_data(Draw& draw, Plan& plan, Duration mean) {
  static constexpr std::array<std::uint32_t, 4> kBatches{1, 2, 4, 8};
  static constexpr std::array<const char*, 4> kRules{
      "none", "inverse", "exponential:rate=0.2", "polynomial:power=0.5"};
  constexpr std::uint64_t kGradientsLeast = 1000;  // For a run that ends with its epochs.
  plan.batch = draw.one_of(kBatches);
  plan.examples = draw.between(plan.batch, 64);
  plan.with_replacement = draw.one_in(4);
  plan.ledger = draw.one_in(2);
  if (plan.ledger && draw.one_in(3)) {
    plan.broken_every = draw.between(5, 50);
  }
  const bool weighs_itself = plan.policy.find("dampen") != std::string::npos;
  plan.staleness = draw.one_in(2) || weighs_itself ? "none" : draw.one_of(kRules);
  if (draw.one_in(4)) {
    const std::uint64_t gradients = draw.between(kGradientsLeast, 2 * kGradientsLeast);
    plan.epochs = 1 + plan.batch * gradients / plan.examples;
    // Its last gradients may be those of a lone worker, eight times as slow as the mean.
    plan.recovery += 16 * gradients * mean;
  }
}

}  // namespace

Plan draw_plan(std::uint64_t seed) {
  static constexpr std::array<Duration, 4> kMeans{std::chrono::milliseconds(10),
                                                  std::chrono::milliseconds(100),
                                                  std::chrono::seconds(1),
                                                  std::chrono::seconds(10)};
  Draw draw(seed, kStream);
  Plan plan{.seed = seed};
  const Duration mean = draw.one_of(kMeans);
  plan.workers = static_cast<std::uint32_t>(draw.between(1, 10));
  plan.policy = draw_policy(draw, plan.workers, mean);
  plan.runtime = draw_runtime(draw, plan.workers, mean);
  plan.latency = draw.one_in(4) ? Duration{} : draw.between(Duration{1}, mean / 4);
  plan.apply = draw.one_in(2) ? Duration{} : draw.between(Duration{1}, mean / plan.workers);
  plan.heartbeat_timeout = draw.between(10 * mean, 40 * mean);
  plan.healed = Time{draw.between(100 * mean, 200 * mean)};
  plan.recovery = 1000 * mean + 10 * plan.heartbeat_timeout + std::chrono::seconds(1);
  draw_data(draw, plan, mean);
  Faults faults(draw, plan, mean);
  faults.add();
  plan.balance = draw.one_in(3);
  faults.add_joins();
  faults.add_servers();
  faults.add_hangs();
  faults.add_greetings();
  if (!plan.ledger && draw.one_in(2)) {  // A ledger counts single gradients.
    plan.local_steps = static_cast<std::uint32_t>(draw.between(2, 6));
    plan.recovery *= plan.local_steps;
    if (plan.progress_timeout) {  // A release takes as many times as long.
      *plan.progress_timeout *= plan.local_steps;
    }
    plan.steps_ahead = draw.one_in(2);
  }
  return plan;
}

std::string to_words(const Plan& plan) {
  std::string text =
      "--workers " + std::to_string(plan.workers) + " --policy '" + plan.policy + "'" +
      (plan.balance ? " --balance" : "") +
      (plan.local_steps > 0 ? " --local-steps " + std::to_string(plan.local_steps) : "") +
      (plan.steps_ahead ? " --steps-ahead" : "") + " --staleness " + plan.staleness +
      " --runtime '" + plan.runtime + "' --batch " + std::to_string(plan.batch) + " --examples " +
      std::to_string(plan.examples) + " --epochs " + std::to_string(plan.epochs) + " --sampling " +
      (plan.with_replacement ? "replacement" : "epoch") + " --latency " + words(plan.latency) +
      " --apply " + words(plan.apply) + " --heartbeat-timeout " + words(plan.heartbeat_timeout) +
      (plan.progress_timeout ? " --progress-timeout " + words(*plan.progress_timeout) : "") +
      " --seed " + std::to_string(plan.seed);
  for (const std::string& fault : plan.faults) {
    text += " --fault " + fault;
  }
  if (plan.checkpoint_every > 0) {
    text += "; a checkpoint every " + std::to_string(plan.checkpoint_every) + " updates";
  }
  if (plan.ledger) {
    text += "; gradients are a ledger";
    if (plan.broken_every > 0) {
      text += ", one in " + std::to_string(plan.broken_every) + " is not finite";
    }
  }
  return text + "; healed at " + words(plan.healed.time_since_epoch());
}

}  // namespace outpace::swarm
