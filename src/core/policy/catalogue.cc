#include "policy/catalogue.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "policy/adasync.h"
#include "policy/async.h"
#include "policy/auto.h"
#include "policy/auto_candidates.h"
#include "policy/backup.h"
#include "policy/balanced.h"
#include "policy/draw.h"
#include "policy/dssp.h"
#include "policy/hand_ins.h"
#include "policy/kasync.h"
#include "policy/kbatchasync.h"
#include "policy/kbatchsync.h"
#include "policy/make_dynamic.h"
#include "policy/psp.h"
#include "policy/saps.h"
#include "policy/softsync.h"
#include "policy/ssp.h"
#include "policy/switch.h"
#include "policy/switch_spec.h"
#include "policy/sync.h"

namespace outpace::policy {
namespace {

constexpr std::uint64_t kBoundMost = 1'000'000;
constexpr std::uint64_t kRangeMost = 10'000;  // Dssp tries each bound from low to high.

std::unique_ptr<Policy> make_sync(SpecReader& /*options*/,
                                  std::uint32_t /*workers*/,
                                  const PolicyInputs& /*inputs*/) {
  return std::make_unique<Sync>();
}

std::unique_ptr<Policy> make_backup(SpecReader& options,
                                    std::uint32_t workers,
                                    const PolicyInputs& /*inputs*/) {
  const std::uint64_t cutoff = options.count("cutoff", std::nullopt, 1, workers);
  return std::make_unique<Backup>(Backup::Options{static_cast<std::uint32_t>(cutoff)});
}

std::uint32_t read_k(SpecReader& options, std::uint32_t workers) {
  return static_cast<std::uint32_t>(options.count("k", std::nullopt, 1, workers));
}

std::unique_ptr<Policy> make_ksync(SpecReader& options,
                                   std::uint32_t workers,
                                   const PolicyInputs& /*inputs*/) {
  return std::make_unique<Backup>(Backup::Options{read_k(options, workers)});
}

std::unique_ptr<Policy> make_kbatchsync(SpecReader& options,
                                        std::uint32_t workers,
                                        const PolicyInputs& /*inputs*/) {
  return std::make_unique<KBatchSync>(KBatchSync::Options{read_k(options, workers)});
}

std::unique_ptr<Policy> make_kasync(SpecReader& options,
                                    std::uint32_t workers,
                                    const PolicyInputs& /*inputs*/) {
  return std::make_unique<KAsync>(KAsync::Options{read_k(options, workers)});
}

std::unique_ptr<Policy> make_kbatchasync(SpecReader& options,
                                         std::uint32_t workers,
                                         const PolicyInputs& /*inputs*/) {
  return std::make_unique<KBatchAsync>(KBatchAsync::Options{read_k(options, workers)});
}

std::unique_ptr<Policy> make_adasync(SpecReader& options,
                                     std::uint32_t workers,
                                     const PolicyInputs& /*inputs*/) {
  static const std::array<std::string, 4> kRules{"kasync", "kbatchasync", "ksync", "kbatchsync"};
  const std::uint32_t k = read_k(options, workers);
  const std::string word = options.word("rule", kRules, "kasync");
  AdaSync::Rule rule = KAsync({k});
  if (word == "kbatchasync") {
    rule.emplace<KBatchAsync>(KBatchAsync::Options{k});
  } else if (word == "ksync") {
    rule.emplace<Backup>(Backup::Options{k});
  } else if (word == "kbatchsync") {
    rule.emplace<KBatchSync>(KBatchSync::Options{k});
  }
  static const std::array<std::string, 2> kLosses{"training", "test"};
  const Measure loss = options.word("loss", kLosses, "training") == "training"
                           ? Measure::kTrainingLoss
                           : Measure::kTestLoss;
  return std::make_unique<AdaSync>(std::move(rule),
                                   AdaSync::Options{.k = k, .workers = workers, .loss = loss});
}

std::unique_ptr<Policy> make_async(SpecReader& /*options*/,
                                   std::uint32_t /*workers*/,
                                   const PolicyInputs& /*inputs*/) {
  return std::make_unique<Async>();
}

std::unique_ptr<Policy> make_softsync(SpecReader& options,
                                      std::uint32_t workers,
                                      const PolicyInputs& /*inputs*/) {
  const std::uint64_t splits = options.count("n", std::nullopt, 1, workers);
  return std::make_unique<Softsync>(Softsync::Options{static_cast<std::uint32_t>(splits)});
}

std::unique_ptr<Policy> make_ssp(SpecReader& options,
                                 std::uint32_t /*workers*/,
                                 const PolicyInputs& /*inputs*/) {
  return std::make_unique<Ssp>(Ssp::Options{options.count("s", std::nullopt)});
}

std::unique_ptr<Policy> make_dssp(SpecReader& options,
                                  std::uint32_t /*workers*/,
                                  const PolicyInputs& /*inputs*/) {
  const std::uint64_t low = options.count("low", std::nullopt, 0, kBoundMost);
  return std::make_unique<Dssp>(Dssp::Options{
      .low = low, .high = options.count("high", std::nullopt, low, low + kRangeMost)});
}

std::unique_ptr<Policy> make_psp(SpecReader& options,
                                 std::uint32_t workers,
                                 const PolicyInputs& /*inputs*/) {
  const std::uint64_t beta = options.count("beta", std::nullopt, 0, workers);
  const std::uint64_t slack = options.count("s", 0);
  return std::make_unique<Psp>(
      Psp::Options{.beta = beta, .slack = slack, .seed = options.count("seed", 1)});
}

std::unique_ptr<Policy> make_saps(SpecReader& options,
                                  std::uint32_t workers,
                                  const PolicyInputs& /*inputs*/) {
  using enum Saps::Remedy;
  static constexpr std::array kRemedies{kRefresh, kPreempt, kShrink, kDampen};
  static const std::array<std::string, kRemedies.size()> kWords{
      "refresh", "preempt", "shrink", "dampen"};
  const LagBound::Rule bound = LagBound::read(options);
  // The default keeps the bound and starves nobody; a worker that cannot be interrupted is no
  // worse off than under refresh.
  const std::string word = options.word("action", kWords, "preempt");
  const auto place = std::find(kWords.begin(), kWords.end(), word) - kWords.begin();
  return std::make_unique<Saps>(Saps::Options{
      .bound = bound, .remedy = kRemedies.at(static_cast<std::size_t>(place)), .workers = workers});
}

std::unique_ptr<Policy> make_switch(SpecReader& options,
                                    std::uint32_t workers,
                                    const PolicyInputs& inputs) {
  const std::string phases = options.text("until", kSwitchForm);
  return std::make_unique<Switch>(Spec::parse("switch(" + phases + ")"), workers, inputs);
}

std::unique_ptr<Policy> make_auto(SpecReader& /*options*/,
                                  std::uint32_t workers,
                                  const PolicyInputs& inputs) {
  return std::make_unique<Auto>(workers, inputs);
}

template <BarrierKind kind>
BarrierKind always(const Spec& /*spec*/) {
  return kind;
}

BarrierKind barrier_of_rule(const Spec& adasync) {
  for (const auto& [option, value] : adasync.options) {
    if (option == "rule" && value != "kasync") {
      return find(value).barrier(adasync);
    }
  }
  return BarrierKind::kDistinct;
}

BarrierKind barrier_of_remedy(const Spec& saps) {
  return weighs_staleness_itself(saps) ? BarrierKind::kNone : BarrierKind::kLateOnes;
}

constexpr const char* kShare = "share";  // As far as sync at the same learning rate.

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
const Entry kEntries[] = {
    {.name = "sync",
     .rule = "An update waits for a gradient from every live worker.",
     .source = "Chen et al., Revisiting Distributed Synchronous SGD, 2016",
     .barrier = always<BarrierKind::kCutoff>,
     .promise = promises::sync,
     .draw = draws::nothing,
     .keeps_slots = true,
     .staleness = "none",
     .options = {},
     .make = make_sync},
    {.name = "backup",
     .rule = "An update is the first gradients of a round; the stragglers' are dropped.",
     .source = "Chen et al., Revisiting Distributed Synchronous SGD, 2016, section 3",
     .barrier = always<BarrierKind::kCutoff>,
     .promise = promises::counted_in_rounds<Awaits::kWorkers>,
     .draw = draws::cutoff,
     .keeps_slots = true,
     .staleness = "none",
     .options = {{"cutoff", "", "gradients an update waits for; from 1 to the number of workers"}},
     .make = make_backup},
    {.name = "dynamic",
     .rule = "As backup, but how long to wait is decided each iteration, by a model of the "
             "workers' runtimes.",
     .source = "Teng and Wood, Bayesian Distributed Stochastic Gradient Descent, 2018; deciding "
               "during the iteration and the model are ours",
     .barrier = always<BarrierKind::kBestCutoff>,
     .promise = promises::dynamic,
     .draw = draws::dynamic,
     .keeps_slots = true,
     .staleness = "none",
     .options =
         {{"model",
           kDynamicModel,
           "auto, switching, ewma, last, elfving, elfving-truncated; deep and deep-joint with "
           "--runtime-model"},
          {"decide",
           "during",
           "before: a count; deadline: a count or a deadline; during: asked again at every "
           "arrival"},
          {"imputation",
           "none",
           "what the model is shown of a worker that was cut off. none: that it takes "
           "longer; truncated: a draw of its forecast beyond the cutoff; plain: any draw"},
          {"min", "1", "gradients of an update at least; never less than 2 for progress"},
          {"max", "0", "gradients of an update at most; 0 is all"},
          {"objective",
           "gradients",
           "what is maximised a second: gradients, or progress, the loss's expected "
           "decrease by the gradients' measured noise"}},
     .make = make_dynamic},
    {.name = kAuto,
     .rule = "The policy that should lower the loss the soonest, chosen anew in the run.",
     .source =
         "McCandlish et al., An Empirical Model of Large-Batch Training, 2018, and Koloskova et "
         "al., "
         "Sharper Convergence Guarantees for Asynchronous SGD, 2022; choosing by them is ours",
     .barrier = always<BarrierKind::kChanging>,
     .promise = promises::only<Awaits::kAny>,
     .draw = draws::nothing,
     .keeps_slots = true,
     .staleness = "that of the policy in force",
     .options = {},
     .make = make_auto},
    {.name = "async",
     .rule = "Every gradient is an update, and nobody waits.",
     .source = "Dean et al., Large Scale Distributed Deep Networks, 2012, section 4.1",
     .barrier = always<BarrierKind::kNone>,
     .promise = promises::only<Awaits::kOne>,
     .draw = draws::nothing,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {},
     .make = make_async},
    {.name = "ksync",
     .rule = "As backup: an update is the first k gradients of a round, the rest are dropped.",
     .source = "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     .barrier = always<BarrierKind::kCutoff>,
     .promise = promises::counted_in_rounds<Awaits::kWorkers>,
     .draw = draws::k,
     .keeps_slots = true,
     .staleness = "none",
     .options = {{"k", "", "gradients an update waits for; from 1 to the number of workers"}},
     .make = make_ksync},
    {.name = "kbatchsync",
     .rule = "As ksync, but who is done computes another mini-batch of the same round.",
     .source = "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     .barrier = always<BarrierKind::kRestarting>,
     .promise = promises::counted_in_rounds<Awaits::kRound>,
     .draw = draws::k,
     .keeps_slots = false,
     .staleness = "none",
     .options = {{"k", "", "gradients an update waits for; from 1 to the number of workers"}},
     .make = make_kbatchsync},
    {.name = "kasync",
     .rule = "An update waits for k workers, which wait for it; nobody is cancelled.",
     .source = "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     .barrier = always<BarrierKind::kDistinct>,
     .promise = promises::counted<Awaits::kWorkers>,
     .draw = draws::k,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {{"k", "", "workers an update waits for; from 1 to the number of workers"}},
     .make = make_kasync},
    {.name = "kbatchasync",
     .rule = "An update is the next k gradients to arrive; nobody waits.",
     .source = "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     .barrier = always<BarrierKind::kNone>,
     .promise = promises::counted<Awaits::kBatches>,
     .draw = draws::k,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {{"k", "", "gradients of an update; from 1 to the number of workers"}},
     .make = make_kbatchasync},
    {.name = "adasync",
     .rule = "An update waits for more gradients as the loss falls.",
     .source = "Dutta et al., Slow and Stale Gradients Can Win the Race, 2021",
     .barrier = barrier_of_rule,
     .promise = promises::adasync,
     .draw = draws::adasync,
     .keeps_slots = false,
     .staleness = "inverse",
     .options = {{"k",
                  "",
                  "gradients that the first updates wait for; from 1 to the number of workers"},
                 {"rule", "kasync", "rule of each update: kasync, kbatchasync, ksync, kbatchsync"},
                 {"loss",
                  "training",
                  "training, the mean over some 50 gradients, after every update; or test, as the "
                  "evaluator measures it"}},
     .make = make_adasync},
    {.name = "softsync",
     .rule = "An update is the next floor(workers / n) gradients to arrive; nobody waits.",
     .source =
         "Zhang et al., Staleness-aware Async-SGD for Distributed Deep Learning, 2016, section 2",
     .barrier = always<BarrierKind::kNone>,
     .promise = promises::counted<Awaits::kSplits>,
     .draw = draws::n,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {{"n",
                  "",
                  "updates in about the time of one iteration; from 1 to the number of workers"}},
     .make = make_softsync},
    {.name = "ssp",
     .rule = "Every gradient is an update; a worker over s iterations ahead waits.",
     .source = "Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel "
               "Parameter Server, 2013, section 2",
     .barrier = always<BarrierKind::kBoundedStaleness>,
     .promise = promises::ssp,
     .draw = draws::ssp,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {{"s",
                  "",
                  "iterations that the fastest may be ahead of the slowest; 0 is in step"}},
     .make = make_ssp},
    {.name = "dssp",
     .rule = "As ssp, with a bound from low to high that follows the workers' pace.",
     .source = "Zhao et al., Dynamic Stale Synchronous Parallel Distributed Training for Deep "
               "Learning, 2019, algorithms 1 and 2",
     .barrier = always<BarrierKind::kBoundedStaleness>,
     .promise = promises::dssp,
     .draw = draws::dssp,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {{"low", "", "iterations that anybody may be ahead of the slowest"},
                 {"high", "", "iterations that the fastest may be ahead at most; at least low"}},
     .make = make_dssp},
    {.name = "psp",
     .rule = "Every gradient is an update; a worker ahead of one in a random sample waits.",
     .source = "Wang et al., Probabilistic Synchronous Parallel, 2017",
     .barrier = always<BarrierKind::kBoundedStaleness>,
     .promise = promises::only<Awaits::kOne>,
     .draw = draws::psp,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {{"beta", "", "workers in a sample; 0 is async, all is ssp"},
                 {"s", "0", "iterations that it may be ahead of any in its sample"},
                 {"seed", "1", "of the samples"}},
     .make = make_psp},
    {.name = "saps",
     .rule = "Every gradient is an update, except a straggler's, more than s versions old.",
     .source = "Yu et al., Accelerating Distributed Training in Heterogeneous Clusters via a "
               "Straggler-Aware Parameter Server, 2019",
     .barrier = barrier_of_remedy,
     .promise = promises::saps,
     .draw = draws::saps,
     .keeps_slots = false,
     .staleness = kShare,
     .options = {{"s",
                  "2 x (live workers - 1)",
                  "versions that a gradient may be behind; at least 1, or a multiple of the median "
                  "lag: 2.5x"},
                 {"action",
                  "preempt",
                  "what is done about a straggler: refresh (drop, start again on current weights), "
                  "preempt (ask for the part it has, in time), shrink (smaller mini-batches), "
                  "dampen (drop nothing, weigh by 1 / staleness)"}},
     .make = make_saps},
    {.name = "switch",
     .rule = "One policy until a condition holds, then the next: 'switch(async until loss<0.6 then "
             "sync until updates>2000 then ssp:s=3)'.",
     .source = "Li et al., Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep "
               "Learning, 2021, for one switch; conditions and seam are ours",
     .barrier = always<BarrierKind::kChanging>,
     .promise = promises::only<Awaits::kAny>,
     .draw = draws::phases,
     .keeps_slots = false,
     .staleness = "that of each phase",
     .options =
         {{"until",
           "",
           "loss (training), test-loss, test-accuracy, updates or seconds, < or >, a number"}},
     .make = make_switch},
};
#pragma GCC diagnostic pop

std::unique_ptr<Policy> balanced(std::unique_ptr<Policy> policy,
                                 const std::optional<BalanceOptions>& balance) {
  if (balance) {
    policy = std::make_unique<Balanced>(std::move(policy), *balance);
  }
  return policy;
}

}  // namespace

std::span<const Entry> catalogue() {
  return kEntries;
}

const Entry& find(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : catalogue()) {
    if (entry.name == name) {
      return entry;
    }
    names.push_back(entry.name);
  }
  throw usage_error("unknown policy '" + name + "'" + suggestion(name, names));
}

std::unique_ptr<Policy> make_policy(const Spec& spec,
                                    std::uint32_t workers,
                                    const PolicyInputs& inputs) {
  SpecReader options("policy", spec);
  std::unique_ptr<Policy> policy = find(spec.name).make(options, workers, inputs);
  options.finish();
  if (inputs.local_steps > 0 && policy->cuts_off()) {
    policy = std::make_unique<HandIns>(std::move(policy));
  }
  return balanced(std::move(policy), inputs.balance);
}

std::unique_ptr<Policy> make_settable_policy(const Spec& spec,
                                             std::uint32_t workers,
                                             const PolicyInputs& inputs) {
  return balanced(std::make_unique<Switch>(spec, workers, inputs), inputs.balance);
}

BarrierKind barrier_of(const Spec& spec) {
  return find(spec.name).barrier(spec);
}

Promise promise_of(const Spec& phase) {
  return find(phase.name).promise(phase);
}

std::string draw_spec(const Entry& entry, Rng& rng, std::uint32_t workers) {
  const std::string options = entry.draw(rng, workers);
  const bool bare = options.empty() || options.front() == '(';
  return entry.name + (bare ? "" : ":") + options;
}

std::string draw_phase(Rng& rng, std::uint32_t workers) {
  std::vector<const Entry*> phases;
  for (const Entry& entry : catalogue()) {
    if (entry.barrier(Spec{.name = entry.name}) != BarrierKind::kChanging) {
      phases.push_back(&entry);
    }
  }
  return draw_spec(*phases[rng.below(phases.size())], rng, workers);
}

bool is_asynchronous(const Spec& phase) {
  return !is_of_rounds(barrier_of(phase));
}

const std::string& default_staleness(const Spec& phase) {
  static const std::string kNone = "none";
  return !is_asynchronous(phase) || weighs_staleness_itself(phase) ? kNone
                                                                   : find(phase.name).staleness;
}

bool uses_fitted_model(const Spec& spec) {
  const std::vector<Phase> phases = phases_of(spec);
  return std::any_of(phases.begin(), phases.end(), [](const Phase& phase) {
    return phase.policy.name == "dynamic" && dynamic_uses_fitted_model(phase.policy);
  });
}

bool weighs_staleness_itself(const Spec& spec) {
  static const std::pair<std::string, std::string> kDampen{"action", "dampen"};
  const std::vector<Phase> phases = phases_of(spec);
  return std::any_of(phases.begin(), phases.end(), [](const Phase& phase) {
    const auto& options = phase.policy.options;
    return phase.policy.name == "saps" &&
           std::find(options.begin(), options.end(), kDampen) != options.end();
  });
}

}  // namespace outpace::policy
