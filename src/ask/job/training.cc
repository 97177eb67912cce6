#include "job/training.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "job/outer_optimizer.h"
#include "policy/auto_candidates.h"
#include "policy/switch_spec.h"
#include "server/policy_rules.h"
#include "update/optimizer.h"

namespace outpace::job {
namespace {

// More than any data set here has, and few enough that a release, which names a mini-batch by its
// ranges in each epoch, stays small.
constexpr double kBatchMost = 1U << 20U;
constexpr double kRateMost = 1e6;

// Douillard et al., "DiLoCo", 2023, section 2.
constexpr const char* kOuterByDefault = "nesterov:mu=0.9,lr=0.7";
// Where pushes are a round old, a velocity of mu = 0.9 swings (docs/local-steps.md).
constexpr const char* kOuterWhereStale = "nesterov:mu=0.5,lr=0.7";

constexpr std::uint64_t kEpochsByDefault = 5;
constexpr std::uint64_t kEpochsTowardsTarget = 50;

// Which gradients count, and when.
void declare_policy(OptionList& options, Training& training) {
  options
      .add("policy",
           training.policy,
           "Rule that decides which gradients count and how long to wait, such as backup:cutoff=6; "
           "`outpace policies` lists them")
      .type("POLICY");
  options.add(
      "balance",
      training.balance,
      "Give each worker a mini-batch in proportion to its speed (LB-BSP), under any policy");
  options
      .add("balance-most",
           training.balance_most,
           "Largest mini-batch under --balance, in multiples of --batch; without --balance, the "
           "largest that --policy auto may make")
      .default_words("4; auto: " + number_text(training.may_balance.most))
      .between(1.0, policy::kShareMost);
  options
      .add("runtime-model",
           training.runtime_model,
           "Runtime model that `outpace fit` wrote, for --policy dynamic to start from")
      .type("FILE");
  options
      .add("staleness",
           training.staleness,
           "Rule that weighs a stale gradient: none, inverse, exponential, polynomial, consgd, "
           "share, dynsgd, gap or dcasgd:form=adaptive")
      .default_words(
          "the rule of the policy in force: share for asynchronous ones, none for the others");
}

void declare_step(OptionList& options, Training& training) {
  options.add(
      "optimizer",
      training.optimizer,
      "Optimizer: sgd, momentum:mu=0.9, nesterov, adam, adamw, lamb, rmsprop, adagrad, "
      "adadelta or yellowfin:gamma=0.01,tau=T; under run and server also script, the one that the "
      "workers' script brings, or else sgd");
  options.add("lr", training.rate, "Learning rate; of yellowfin a factor on the rate it finds")
      .default_words("0.1; yellowfin: 1")
      .between(0.0, kRateMost);
  options.add("schedule",
              training.schedule,
              "Learning rate over the examples E seen: constant, step:every=E,factor=F or "
              "cosine:over=E; each takes warmup=E");
  options.add("lr-scale",
              training.rate_scale,
              "Scale the learning rate by an update's accepted examples over its nominal ones: "
              "none, sqrt or linear");
  options.add("weight-decay", training.weight_decay, "L2 weight decay; decoupled in adamw")
      .between(0.0, kRateMost);
  options.add("clip-norm", training.clip_norm, "Clip each gradient to this norm; 0 clips none")
      .between(0.0);
  options.add("filter",
              training.filter,
              "Filter wrong gradients: kardam:f=2 for asynchronous policies; median, trimmed:f=2 "
              "or krum:f=2 for updates of several gradients");
}

void declare_compression(OptionList& options, Training& training) {
  options.add(
      "compress",
      training.compress,
      "How workers write what they push, or in a ring send each other, in fewer bytes: none, "
      "bf16, fp16, int8, int4 or topk:share=0.01,bits=8; what that leaves behind counts with "
      "the next push, but for feedback=0");
  options.add("compress-weights",
              training.compress_weights,
              "How the server writes the weights that workers pull: none, bf16, int8 (what has "
              "changed since a worker's last) or delta (the bf16 numbers that have changed)");
}

void declare_local_steps(OptionList& options, Training& training) {
  options
      .add("local-steps",
           training.local_steps,
           "Mini-batches that a worker steps by itself, with --optimizer and --lr, between two "
           "pushes; it pushes what these steps have changed")
      .default_words("a push for each mini-batch")
      .between(1, kBatchMost);
  options
      .add("outer-optimizer",
           training.outer_optimizer,
           "With --local-steps, the server's optimizer, with its rate: sgd:lr=1 averages")
      .type("OPTIMIZER")
      .default_words(std::string(kOuterByDefault) + "; of asynchronous policies " +
                     kOuterWhereStale);
}

void declare_data(OptionList& options, Training& training) {
  options.add("batch", training.batch, "Examples in a worker's mini-batch").between(1, kBatchMost);
  options.add("seed", training.seed, "Seed of the initial weights and of the examples' order");
  options.add("sampling",
              training.sampling,
              "epoch uses every example exactly once an epoch; replacement draws at random");
  options
      .add("reduce",
           training.reduce,
           "order adds gradients in worker order, repeatable to the bit; arrival adds them in one "
           "buffer as they come")
      .default_words("order for policies that wait for a set, arrival for the others");
}

void declare_end(OptionList& options, Training& training) {
  options.add("updates", training.limits.updates, "Stop after this many updates; 0: no limit");
  options.add(
      "iterations", training.limits.iterations, "Stop after this many gradients; 0: no limit");
  options
      .add("epochs",
           training.limits.epochs,
           "Stop after this many passes over the data; 0: no limit")
      .default_words("5 if there is no other limit, 50 with a target");
  options.add(
      "seconds", training.limits.seconds, "Stop after this time, such as 90s; 0s: no limit");
  options
      .add("target-accuracy",
           training.target_accuracy,
           "Stop when the test accuracy reaches this share, such as 0.84")
      .between(1e-9, 1.0)
      .takes("a share above 0 and at most 1, such as 0.84");
  options
      .add("consecutive",
           training.consecutive,
           "Evaluations in a row that must reach the target accuracy")
      .between(1);
  options.add("past-target",
              training.past_target,
              "Report when the target accuracy is reached, and go on to the end");
  options.add("evaluate-every", training.evaluate_every, "Applied examples between two evaluations")
      .between(1);
}

// In any phase of a switch.
bool ever_asynchronous(const Training& training) {
  return std::ranges::any_of(policy::phases_of(training.policy), [](const policy::Phase& phase) {
    return policy::is_asynchronous(phase.policy);
  });
}

server::Limits limits_in_force(const Training& training) {
  server::Limits limits = training.limits;
  const bool none = limits.updates == 0 && limits.iterations == 0 && limits.epochs == 0 &&
                    limits.seconds == Duration{};
  if (none) {
    const bool until_target = training.target_accuracy && !training.past_target;
    limits.epochs = until_target ? kEpochsTowardsTarget : kEpochsByDefault;
  }
  return limits;
}

void check_workers(const Training& training,
                   const Membership& membership,
                   std::uint32_t workers_max) {
  if (training.workers < 1 || training.workers > workers_max) {
    throw usage_error("--workers is " + std::to_string(training.workers) +
                      "; it takes a whole number from 1 to " + std::to_string(workers_max));
  }
  if (training.max_workers &&
      (*training.max_workers < training.workers || *training.max_workers > workers_max)) {
    throw usage_error("--max-workers is " + std::to_string(*training.max_workers) +
                      "; it takes a whole number from --workers, " +
                      std::to_string(training.workers) + ", to " + std::to_string(workers_max));
  }
  if (membership.min_workers < 1 || membership.min_workers > training.workers) {
    throw usage_error("--min-workers is " + std::to_string(membership.min_workers) +
                      "; it takes a whole number from 1 to --workers, " +
                      std::to_string(training.workers));
  }
}

void check_target(const Training& training) {
  if (training.past_target && !training.target_accuracy) {
    throw usage_error(
        "--past-target without --target-accuracy: there is no target to go past; "
        "add --target-accuracy");
  }
}

// A gradient that is an update of its own weighs by its examples; a rate that also grows with them
// would count them twice.
void check_scales_once(const Training& training, const policy::Policy& policy) {
  constexpr std::uint32_t kTwo = 2;  // With one worker all policies are the same.
  if (training.balance && training.rate_scale != update::RateScale::kNone &&
      policy.nominal_cutoff(std::max(kTwo, training.workers)) == 1) {
    throw usage_error("--lr-scale " + Value<update::RateScale>::text(training.rate_scale) +
                      " conflicts with --balance under --policy " + training.policy.text +
                      ", whose gradients weigh by their examples already; remove --lr-scale");
  }
}

// The coordinator's unit of --lr-scale is an update of all workers that may come, the user's one of
// those that the run starts with.
double rate_of_all(const Training& training, const policy::Policy& policy) {
  const double rate = rate_in_force(training);
  const double all = policy.nominal_cutoff(workers_at_most(training));
  const double first = policy.nominal_cutoff(training.workers);
  switch (training.rate_scale) {
    case update::RateScale::kNone:
      return rate;
    case update::RateScale::kLinear:
      return rate * all / first;
    case update::RateScale::kSqrt:
      return rate * std::sqrt(all / first);
  }
  CHECK(false);
  return rate;
}

}  // namespace

void declare_steps_ahead(OptionList& options, bool& steps_ahead) {
  options.add("steps-ahead",
              steps_ahead,
              "With --local-steps: a worker goes on with its next mini-batches while its push and "
              "the next weights travel");
}

void check_steps_ahead(bool steps_ahead, bool local_steps, std::uint32_t cores) {
  if (steps_ahead && !local_steps) {
    throw usage_error(
        "--steps-ahead without --local-steps: the server makes the steps; remove it, or add "
        "--local-steps");
  }
  if (steps_ahead && cores > 0) {
    throw usage_error(
        "--steps-ahead conflicts with --cores: workers that share processors are not simulated "
        "with it; remove one");
  }
}

void declare_keep_worker_state(OptionList& options, bool& kept) {
  options.add(
      "keep-worker-state",
      kept,
      "A worker that is started again goes on with what it had of its own, which the run's "
      "directory keeps in workers/: its optimizer with --local-steps; under train also what "
      "--compress left behind");
}

void check_keep_worker_state(bool kept, bool local_steps) {
  if (kept && !local_steps) {
    throw usage_error(
        "--keep-worker-state without --local-steps: the server has the state of the steps that it "
        "makes; remove it, or add --local-steps");
  }
}

void declare(OptionList& options, Training& training) {
  options.add("workers", training.workers, "Number of workers; the run starts when all have joined")
      .between(1);
  options
      .add("max-workers",
           training.max_workers,
           "Number of workers that the job may grow to: others join while it runs")
      .default_words("--workers");
  declare_policy(options, training);
  declare_step(options, training);
  declare_compression(options, training);
  declare_local_steps(options, training);
  declare_data(options, training);
  declare_end(options, training);
}

std::uint32_t workers_at_most(const Training& training) {
  return training.max_workers.value_or(training.workers);
}

std::string staleness_in_force(const Training& training) {
  if (training.staleness) {
    if (training.staleness->text != "none" && policy::weighs_staleness_itself(training.policy)) {
      throw usage_error("--staleness " + training.staleness->text + " conflicts with --policy " +
                        training.policy.text +
                        ", which weighs staleness itself; remove --staleness");
    }
    return training.staleness->text;
  }
  const char* const between = training.policy.name == policy::kAuto ? " or " : " then ";
  std::string words;
  std::string last;
  for (const policy::Phase& phase : policy::phases_of(training.policy)) {
    const std::string& rule = policy::default_staleness(phase.policy);
    if (rule != last) {
      words += (words.empty() ? "" : between) + rule;
      last = rule;
    }
  }
  return words;
}

double rate_in_force(const Training& training) {
  const bool finds_its_own = training.optimizer.name == "yellowfin";
  return training.rate.value_or(finds_its_own ? 1.0 : 0.1);
}

std::string outer_optimizer_in_force(const Training& training) {
  if (training.outer_optimizer) {
    return training.outer_optimizer->text;
  }
  return ever_asynchronous(training) ? kOuterWhereStale : kOuterByDefault;
}

std::optional<policy::BalanceOptions> balance_in_force(const Training& training) {
  if (!training.balance) {
    if (training.balance_most && training.policy.name != policy::kAuto) {
      throw usage_error("--balance-most without --balance; add --balance, or remove it");
    }
    return std::nullopt;
  }
  policy::BalanceOptions balance;
  balance.most = training.balance_most.value_or(balance.most);
  return balance;
}

policy::BalanceOptions may_balance(const Training& training) {
  return {.most = training.balance_most.value_or(training.may_balance.most)};
}

bool scale_invariant(const Training& training) {
  return !training.local_steps && training.optimizer.text != kScriptOptimizer &&
         update::make_optimizer(training.optimizer, 1)->scale_invariant();
}

void check_runtime_model(const Training& training) {
  if (!training.runtime_model.empty() && !policy::uses_fitted_model(training.policy)) {
    throw usage_error("--runtime-model conflicts with --policy " + training.policy.text +
                      ": only dynamic with model=auto, deep or deep-joint uses one; remove it");
  }
}

namespace {

void check_local_steps(const Training& training) {
  if (!training.local_steps) {
    if (training.outer_optimizer) {
      throw usage_error("--outer-optimizer without --local-steps; add --local-steps, or remove it");
    }
    return;
  }
  const std::string steps = "--local-steps " + std::to_string(*training.local_steps);
  if (std::uint64_t{training.batch} * *training.local_steps > std::uint64_t{1} << 20U) {
    throw usage_error(steps + " of --batch " + std::to_string(training.batch) +
                      " are more than 1,048,576 examples between two pushes; lower one of them");
  }
  if (training.rate_scale != update::RateScale::kNone) {
    throw usage_error("--lr-scale " + Value<update::RateScale>::text(training.rate_scale) +
                      " conflicts with " + steps +
                      ", where --lr is the rate of each worker's own steps; remove --lr-scale");
  }
}

// A velocity that acts at each of a round's pushes moves the weights as many times as far.
void check_outer_suits(const Training& training, const OuterOptimizer& outer) {
  const bool at_each_push =
      std::ranges::find(outer.optimizer.options,
                        std::pair<std::string, std::string>("over", "update")) !=
      outer.optimizer.options.end();
  if (at_each_push && ever_asynchronous(training)) {
    throw usage_error("--outer-optimizer " + training.outer_optimizer->text +
                      " conflicts with --policy " + training.policy.text +
                      ": momentum at every push diverges; remove over=update");
  }
}

// The workers' own steps take the user's optimizer, rate, schedule and decay; the server's take the
// outer optimizer.
void move_steps_to_workers(const Training& training, Resolved& resolved) {
  const OuterOptimizer outer = parse_outer(Spec::parse(outer_optimizer_in_force(training)));
  check_outer_suits(training, outer);
  (void)update::make_optimizer(training.optimizer, 1);
  resolved.coordinator.local_steps = server::LocalSteps{.most = *training.local_steps,
                                                        .optimizer = training.optimizer.text,
                                                        .weight_decay = training.weight_decay,
                                                        .rate = rate_in_force(training),
                                                        .schedule = resolved.coordinator.schedule};
  resolved.policy_inputs.local_steps = *training.local_steps;
  resolved.coordinator.rate = outer.rate;
  resolved.coordinator.schedule = update::Schedule::parse(Spec::parse("constant"));
  resolved.shard.optimizer = outer.optimizer;
  resolved.shard.weight_decay = 0.0;
}

}  // namespace

Resolved resolve(const Training& training,
                 const Membership& membership,
                 const ResolveOptions& options) {
  check_workers(training, membership, options.workers_max);
  check_target(training);
  check_local_steps(training);
  check_runtime_model(training);
  const policy::Entry& entry = policy::find(training.policy.name);
  Resolved resolved;
  resolved.policy = training.policy;
  resolved.policy_inputs = {.balance = balance_in_force(training),
                            .may_balance = may_balance(training),
                            .scale_invariant = scale_invariant(training),
                            .fitted = options.fitted};
  const std::uint32_t most = workers_at_most(training);
  const auto policy = policy::make_policy(training.policy, most, {.fitted = options.fitted});
  check_scales_once(training, *policy);
  resolved.coordinator = {.generation = 1,
                          .workers = most,
                          .later = most - training.workers,
                          .min_workers = membership.min_workers,
                          .batch = training.batch,
                          .examples = 1,
                          .seed = training.seed,
                          .with_replacement = training.sampling == Sampling::kReplacement,
                          .limits = limits_in_force(training),
                          .policy = training.policy,
                          .rate = rate_of_all(training, *policy),
                          .schedule = update::Schedule::parse(training.schedule),
                          .rate_scale = training.rate_scale,
                          .evaluate_every = training.evaluate_every,
                          .heartbeat_timeout = membership.heartbeat_timeout,
                          .progress_timeout = membership.progress_timeout.time,
                          .patience = membership.patience_to_begin(),
                          .return_patience = membership.patience_to_return()};
  (void)staleness_in_force(training);  // Refuses what conflicts.
  if (training.staleness) {
    resolved.coordinator.staleness = update::StalenessRule::parse(*training.staleness);
  }
  resolved.shard = {
      .optimizer = training.optimizer,
      .staleness = resolved.coordinator.staleness.value_or(update::StalenessRule::none()),
      .reduce = training.reduce.value_or(entry.keeps_slots ? update::Reduce::kWorkerOrder
                                                           : update::Reduce::kArrival),
      .weight_decay = training.weight_decay,
      .clip_norm = training.clip_norm,
      .filter = update::FilterRule::parse(training.filter)};
  resolved.compress = compress::Compression::parse(training.compress.text);
  resolved.compress_weights = compress::parse_weights(training.compress_weights.text);
  if (training.local_steps) {
    move_steps_to_workers(training, resolved);
  }
  server::check(resolved.shard);
  server::check_filter(resolved.shard.filter,
                       training.policy,
                       {.first = training.workers, .most = most},
                       {.fitted = options.fitted},
                       resolved.shard.staleness);
  if (resolved.shard.filter.combines() && training.reduce == update::Reduce::kArrival) {
    throw usage_error("--reduce arrival conflicts with --filter " + training.filter.text +
                      ", which keeps all gradients of an update; remove --reduce");
  }
  resolved.target = {.target = training.target_accuracy,
                     .consecutive = training.consecutive,
                     .ends = !training.past_target};
  return resolved;
}

}  // namespace outpace::job
