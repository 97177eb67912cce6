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
#include "policy/backup.h"
#include "policy/balanced.h"
#include "policy/dssp.h"
#include "policy/dynamic_cutoff.h"
#include "policy/hand_ins.h"
#include "policy/kasync.h"
#include "policy/kbatchasync.h"
#include "policy/kbatchsync.h"
#include "policy/psp.h"
#include "policy/saps.h"
#include "policy/softsync.h"
#include "policy/ssp.h"
#include "policy/switch.h"
#include "policy/switch_spec.h"
#include "policy/sync.h"
#include "runtime_model/imputing.h"
#include "runtime_model/model_list.h"

namespace outpace::policy {
namespace {

constexpr const char* kDynamicModel = "auto";
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

std::unique_ptr<Policy> make_dynamic(SpecReader& options,
                                     std::uint32_t workers,
                                     const PolicyInputs& inputs) {
  using runtime_model::Decide;
  using runtime_model::Imputation;
  static constexpr std::array kDecide{Decide::kBefore, Decide::kDeadline, Decide::kDuring};
  static const std::array<std::string, kDecide.size()> kWords{"before", "deadline", "during"};
  std::vector<std::string> models;
  for (const runtime_model::Entry& entry : runtime_model::catalogue()) {
    models.push_back(entry.name);
  }
  const std::string model = options.word("model", models, kDynamicModel);
  const std::string word = options.word("decide", kWords, "during");
  const auto place = std::find(kWords.begin(), kWords.end(), word) - kWords.begin();
  const std::uint64_t max = options.count("max", 0, 0, workers);
  const std::uint64_t most = max == 0 ? workers : max;
  static const std::array<std::string, 2> kObjectives{"gradients", "progress"};
  std::optional<GradientNoise> noise;
  const std::string objective = options.word("objective", kObjectives, "gradients");
  if (objective == "progress") {
    noise.emplace();
  }
  // A single gradient does not tell its noise: at least two are needed.
  const std::uint64_t asked = options.count("min", 1, 1, most);
  const std::uint64_t least = noise ? std::max(asked, std::min<std::uint64_t>(2, most)) : asked;
  static constexpr std::array kImputations{
      Imputation::kNone, Imputation::kTruncated, Imputation::kPlain};
  static const std::array<std::string, kImputations.size()> kImputed{"none", "truncated", "plain"};
  const std::string imputed = options.word("imputation", kImputed, "none");
  const auto imputation = std::find(kImputed.begin(), kImputed.end(), imputed) - kImputed.begin();
  return std::make_unique<DynamicCutoff>(
      runtime_model::impute(runtime_model::make_model(model, workers, inputs.fitted.get()),
                            kImputations.at(static_cast<std::size_t>(imputation))),
      runtime_model::Cutoff::Options{.decide = kDecide.at(static_cast<std::size_t>(place)),
                                     .least = static_cast<std::uint32_t>(least),
                                     .most = static_cast<std::uint32_t>(most)},
      workers,
      noise);
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
  return std::make_unique<Switch>(Spec::parse("switch(" + phases + ")"), workers, inputs.fitted);
}

template <BarrierKind kind>
BarrierKind always(const Spec& /*spec*/) {
  return kind;
}

BarrierKind barrier_of_rule(const Spec& adasync) {
  for (const auto& [option, value] : adasync.options) {
    if (option == "rule") {
      return find(value).barrier(adasync);
    }
  }
  return BarrierKind::kDistinct;
}

BarrierKind barrier_of_remedy(const Spec& saps) {
  return weighs_staleness_itself(saps) ? BarrierKind::kNone : BarrierKind::kLateOnes;
}

constexpr bool kAsynchronous = true;
constexpr bool kKeepsSlots = true;
constexpr const char* kShare = "share";  // As far as sync at the same learning rate.

// clang-format off
const std::array<Entry, 15> kEntries{{
    {"sync", "An update waits for a gradient from every live worker.",
     "Chen et al., Revisiting Distributed Synchronous SGD, 2016",
     !kAsynchronous, kKeepsSlots, always<BarrierKind::kCutoff>, "none", {}, make_sync},
    {"backup", "An update is the first gradients of a round; the stragglers' are dropped.",
     "Chen et al., Revisiting Distributed Synchronous SGD, 2016, section 3",
     !kAsynchronous, kKeepsSlots, always<BarrierKind::kCutoff>, "none",
     {{"cutoff", "", "gradients an update waits for; from 1 to the number of workers"}},
     make_backup},
    {"dynamic", "As backup, but how long to wait is decided each iteration, by a model of the"
     " workers' runtimes.",
     "Teng and Wood, Bayesian Distributed Stochastic Gradient Descent, 2018; deciding during the"
     " iteration and the model are ours",
     !kAsynchronous, kKeepsSlots, always<BarrierKind::kBestCutoff>, "none",
     {{"model", kDynamicModel,
       "auto, switching, ewma, kalman, last, elfving, elfving-truncated, elfving-observed; deep and"
       " deep-joint with --runtime-model"},
      {"decide", "during",
       "before: a count; deadline: a count or a deadline; during: asked again at every arrival"},
      {"imputation", "none",
       "what the model is shown of a worker that was cut off. none: that it takes longer; truncated:"
       " a draw of its forecast beyond the cutoff; plain: any draw"},
      {"min", "1", "gradients of an update at least; never less than 2 for progress"},
      {"max", "0", "gradients of an update at most; 0 is all"},
      {"objective", "gradients",
       "what is maximised a second: gradients, or progress, the loss's expected decrease by the"
       " gradients' measured noise"}},
     make_dynamic},
    {"async", "Every gradient is an update, and nobody waits.",
     "Dean et al., Large Scale Distributed Deep Networks, 2012, section 4.1",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kNone>, kShare, {}, make_async},
    {"ksync", "As backup: an update is the first k gradients of a round, the rest are dropped.",
     "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     !kAsynchronous, kKeepsSlots, always<BarrierKind::kCutoff>, "none",
     {{"k", "", "gradients an update waits for; from 1 to the number of workers"}},
     make_ksync},
    {"kbatchsync", "As ksync, but who is done computes another mini-batch of the same round.",
     "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     !kAsynchronous, !kKeepsSlots, always<BarrierKind::kRestarting>, "none",
     {{"k", "", "gradients an update waits for; from 1 to the number of workers"}},
     make_kbatchsync},
    {"kasync", "An update waits for k workers, which wait for it; nobody is cancelled.",
     "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kDistinct>, kShare,
     {{"k", "", "workers an update waits for; from 1 to the number of workers"}},
     make_kasync},
    {"kbatchasync", "An update is the next k gradients to arrive; nobody waits.",
     "Dutta et al., Slow and Stale Gradients Can Win the Race, 2018, section 2",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kNone>, kShare,
     {{"k", "", "gradients of an update; from 1 to the number of workers"}},
     make_kbatchasync},
    {"adasync", "An update waits for more gradients as the loss falls.",
     "Dutta et al., Slow and Stale Gradients Can Win the Race, 2021",
     kAsynchronous, !kKeepsSlots, barrier_of_rule, "inverse",
     {{"k", "", "gradients that the first updates wait for; from 1 to the number of workers"},
      {"rule", "kasync", "rule of each update: kasync, kbatchasync, ksync, kbatchsync"},
      {"loss", "training", "training, the mean over some 50 gradients, after every update; or test,"
       " as the evaluator measures it"}},
     make_adasync},
    {"softsync", "An update is the next floor(workers / n) gradients to arrive; nobody waits.",
     "Zhang et al., Staleness-aware Async-SGD for Distributed Deep Learning, 2016, section 2",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kNone>, kShare,
     {{"n", "", "updates in about the time of one iteration; from 1 to the number of workers"}},
     make_softsync},
    {"ssp", "Every gradient is an update; a worker over s iterations ahead waits.",
     "Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel Parameter"
     " Server, 2013, section 2",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kBoundedStaleness>, kShare,
     {{"s", "", "iterations that the fastest may be ahead of the slowest; 0 is in step"}},
     make_ssp},
    {"dssp", "As ssp, with a bound from low to high that follows the workers' pace.",
     "Zhao et al., Dynamic Stale Synchronous Parallel Distributed Training for Deep Learning,"
     " 2019, algorithms 1 and 2",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kBoundedStaleness>, kShare,
     {{"low", "", "iterations that anybody may be ahead of the slowest"},
      {"high", "", "iterations that the fastest may be ahead at most; at least low"}},
     make_dssp},
    {"psp", "Every gradient is an update; a worker ahead of one in a random sample waits.",
     "Wang et al., Probabilistic Synchronous Parallel, 2017",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kBoundedStaleness>, kShare,
     {{"beta", "", "workers in a sample; 0 is async, all is ssp"},
      {"s", "0", "iterations that it may be ahead of any in its sample"},
      {"seed", "1", "of the samples"}},
     make_psp},
    {"saps", "Every gradient is an update, except a straggler's, more than s versions old.",
     "Yu et al., Accelerating Distributed Training in Heterogeneous Clusters via a"
     " Straggler-Aware Parameter Server, 2019",
     kAsynchronous, !kKeepsSlots, barrier_of_remedy, kShare,
     {{"s", "2 x (live workers - 1)",
       "versions that a gradient may be behind; at least 1, or a multiple of the median lag: 2.5x"},
      {"action", "preempt",
       "what is done about a straggler: refresh (drop, start again on current weights),"
       " preempt (ask for the part it has, in time), shrink (smaller mini-batches),"
       " dampen (drop nothing, weigh by 1 / staleness)"}},
     make_saps},
    {"switch", "One policy until a condition holds, then the next:"
     " 'switch(async until loss<0.6 then sync until updates>2000 then ssp:s=3)'.",
     "Li et al., Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep Learning,"
     " 2021, for one switch; conditions and seam are ours",
     kAsynchronous, !kKeepsSlots, always<BarrierKind::kChanging>, "that of each phase",
     {{"until", "", "loss (training), test-loss, test-accuracy, updates or seconds, < or >, a"
       " number"}},
     make_switch},
}};
// clang-format on

std::unique_ptr<Policy> wrapped(std::unique_ptr<Policy> policy, const PolicyInputs& inputs) {
  if (inputs.hand_ins) {
    policy = std::make_unique<HandIns>(std::move(policy));
  }
  if (inputs.balance) {
    policy = std::make_unique<Balanced>(std::move(policy), *inputs.balance);
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
  return wrapped(std::move(policy), inputs);
}

std::unique_ptr<Policy> make_settable_policy(const Spec& spec,
                                             std::uint32_t workers,
                                             const PolicyInputs& inputs) {
  return wrapped(std::make_unique<Switch>(spec, workers, inputs.fitted), inputs);
}

BarrierKind barrier_of(const Spec& spec) {
  return find(spec.name).barrier(spec);
}

bool is_asynchronous(const Spec& phase) {
  static const std::pair<std::string, std::string> kOfRounds{"rule", "ksync"};
  static const std::pair<std::string, std::string> kOfFullRounds{"rule", "kbatchsync"};
  const auto& options = phase.options;
  const auto has = [&](const auto& option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  return find(phase.name).asynchronous &&
         !(phase.name == "adasync" && (has(kOfRounds) || has(kOfFullRounds)));
}

const std::string& default_staleness(const Spec& phase) {
  static const std::string kNone = "none";
  return !is_asynchronous(phase) || weighs_staleness_itself(phase) ? kNone
                                                                   : find(phase.name).staleness;
}

bool uses_fitted_model(const Spec& spec) {
  const std::vector<Phase> phases = phases_of(spec);
  return std::any_of(phases.begin(), phases.end(), [](const Phase& phase) {
    std::string model = kDynamicModel;
    for (const auto& [option, value] : phase.policy.options) {
      model = option == "model" || option.empty() ? value : model;
    }
    return phase.policy.name == "dynamic" &&
           (model == kDynamicModel || model == "deep" || model == "deep-joint");
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
