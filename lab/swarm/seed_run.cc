#include "swarm/seed_run.h"

#include "base/spec.h"
#include "invariants/violation.h"
#include "policy/catalogue.h"
#include "sim/timing.h"
#include "swarm/invariant_checker.h"
#include "worker/ledger.h"

namespace outpace::swarm {
namespace {

constexpr std::uint64_t kRunTwice = 8;                        // One seed in this many runs twice.
constexpr Duration kPatience = std::chrono::hours(24 * 365);  // All may be gone for a while.

sim::ClusterOptions options_of(const Plan& plan) {
  sim::ClusterOptions options{
      .policy = Spec::parse(plan.policy),
      .coordinator = {.workers = plan.workers,
                      .batch = plan.batch,
                      .examples = plan.examples,
                      .seed = plan.seed,
                      .with_replacement = plan.with_replacement,
                      .limits = {.epochs = plan.epochs},
                      .staleness = update::StalenessRule::parse(Spec::parse(plan.staleness)),
                      .rate_scale = update::RateScale::kLinear,
                      .checkpoint_every = {.updates = plan.checkpoint_every},
                      .heartbeat_timeout = plan.heartbeat_timeout,
                      .progress_timeout = plan.progress_timeout,
                      .patience = kPatience,
                      .return_patience = kPatience},
      .shard = {.optimizer = Spec::parse("sgd")},
      .target = {},
      .latency = plan.latency,
      .apply = plan.apply};
  if (plan.balance) {
    options.policy_inputs.balance.emplace();
  }
  if (plan.local_steps > 0) {
    options.coordinator.local_steps = {
        .most = plan.local_steps, .optimizer = "sgd", .schedule = {}};
    options.policy_inputs.local_steps = plan.local_steps;
    options.steps_ahead = plan.steps_ahead;
  }
  // Undoes the mean over an update's examples: each moves its number by its weight.
  const auto policy = policy::make_policy(options.policy, plan.workers);
  options.coordinator.rate = static_cast<double>(plan.batch) * policy->nominal_cutoff(plan.workers);
  for (const std::string& fault : plan.faults) {
    options.faults.push_back(sim::parse_fault(fault, plan.workers));
  }
  return options;
}

std::unique_ptr<sim::Timing> timing_of(const Plan& plan) {
  auto drawn = std::make_unique<sim::DrawnTiming>(
      sim::Runtimes::parse(plan.runtime,
                           {.workers = plan.workers, .seed = plan.seed, .read_file = {}}),
      std::vector<double>{});
  if (plan.local_steps > 0) {
    return std::make_unique<sim::SteppedTiming>(std::move(drawn), plan.local_steps);
  }
  return drawn;
}

// One run under checker. Throws Violation.
sim::ClusterResult run_once(const Plan& plan, InvariantChecker& checker) {
  sim::ClusterOptions options = options_of(plan);
  options.observer = &checker;
  const std::unique_ptr<sim::Timing> timing = timing_of(plan);
  worker::Ledger ledger(plan.examples, plan.broken_every);
  sim::Learning learning{ledger};
  sim::Cluster cluster(
      options,
      *timing,
      plan.ledger ? &learning : nullptr,
      [&checker](Time now, const policy::Event& event, const policy::Decision& decision) {
        checker.decided(now, event, decision);
      },
      nullptr);
  sim::ClusterResult result = cluster.run();
  checker.ended(result);
  return result;
}

sim::ClusterResult run_twice(const Plan& plan) {
  InvariantChecker checker(plan, /*keeps_events=*/false);
  sim::ClusterResult result = run_once(plan, checker);
  if (plan.seed % kRunTwice == 0) {
    InvariantChecker second(plan, /*keeps_events=*/false);
    const sim::ClusterResult again = run_once(plan, second);
    invariants::hold(again.hash == result.hash, "I14", [&] {
      return "two runs of one plan differ, after " + std::to_string(result.events) + " and " +
             std::to_string(again.events) + " events";
    });
  }
  return result;
}

// Once more, this time with its events in words.
std::vector<std::string> last_events(const Plan& plan) {
  InvariantChecker checker(plan, /*keeps_events=*/true);
  try {
    (void)run_once(plan, checker);
  } catch (const invariants::Violation&) {  // As expected.
  }
  return {checker.last_events().begin(), checker.last_events().end()};
}

}  // namespace

Outcome run_trial(const Plan& plan) {
  Outcome outcome;
  try {
    const sim::ClusterResult result = run_twice(plan);
    outcome.events = result.events;
    outcome.simulated = result.ended.time_since_epoch();
    outcome.updates = result.statistics.updates;
    outcome.refused = result.statistics.gradients_refused;
    outcome.faults = result.faults;
  } catch (const invariants::Violation& violation) {
    outcome.failure = Failure{.invariant = violation.invariant(),
                              .what = violation.what(),
                              .last_events = last_events(plan)};
  }
  return outcome;
}

std::string again(std::uint64_t seed) {
  return "outpace-lab swarm --seeds " + std::to_string(seed);
}

std::string report(const Plan& plan, const Failure& failure, const std::string& commit) {
  std::string text = "seed " + std::to_string(plan.seed) + " at commit " + commit +
                     "\noptions: " + to_words(plan) + "\nlast events:\n";
  for (const std::string& event : failure.last_events) {
    text += "  " + event + "\n";
  }
  return text + "again: " + again(plan.seed) + "\n";
}

}  // namespace outpace::swarm
