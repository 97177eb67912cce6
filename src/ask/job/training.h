// What is trained and how: the options that hold live and in virtual time.
//
// A Training is a value with defaults. declare() lists its options, resolve() checks them and says
// what they mean for coordinator and shard.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/spec.h"
#include "base/time.h"
#include "compress/format.h"
#include "compress/reference.h"
#include "job/option_list.h"
#include "job/quantities.h"
#include "policy/balance.h"
#include "policy/catalogue.h"
#include "runtime_model/deep_weights.h"
#include "server/coordinator.h"
#include "server/evaluations.h"
#include "server/shard.h"
#include "update/aggregate.h"
#include "update/schedule.h"

namespace outpace::job {

enum class Sampling : std::uint8_t { kEpoch, kReplacement };
template <>
struct Choices<Sampling> {
  static constexpr std::array<std::pair<std::string_view, Sampling>, 2> kWords{
      {{"epoch", Sampling::kEpoch}, {"replacement", Sampling::kReplacement}}};
};
template <>
struct Choices<update::Reduce> {
  static constexpr std::array<std::pair<std::string_view, update::Reduce>, 2> kWords{
      {{"order", update::Reduce::kWorkerOrder}, {"arrival", update::Reduce::kArrival}}};
};
template <>
struct Choices<update::RateScale> {
  static constexpr std::array<std::pair<std::string_view, update::RateScale>, 3> kWords{
      {{"none", update::RateScale::kNone},
       {"sqrt", update::RateScale::kSqrt},
       {"linear", update::RateScale::kLinear}}};
};

// --optimizer script: the optimizer that the workers' script brings; sgd if it brings none.
inline constexpr const char* kScriptOptimizer = "script";
// A script may need mini-batches of one size, so that `auto` balances them only if it is told.
inline constexpr policy::BalanceOptions kOneSize{.most = 1.0};

struct Training {
  std::uint32_t workers = 8;
  std::optional<std::uint32_t> max_workers;  // Nothing: workers.
  Spec policy = Spec::parse("dynamic");
  bool balance = false;
  std::optional<double> balance_most;  // Nothing: as BalanceOptions has it; `auto`, as the next.
  policy::BalanceOptions may_balance = policy::kAutoBalance;
  std::string runtime_model;      // A file; empty: none.
  std::optional<Spec> staleness;  // Nothing: the policy's default.
  Spec optimizer = Spec::parse("sgd");
  std::optional<double> rate;  // Nothing: the optimizer's default.
  Spec schedule = Spec::parse("constant");
  update::RateScale rate_scale = update::RateScale::kNone;
  double weight_decay = 0.0;
  double clip_norm = 0.0;
  Spec compress = Spec::parse("none");          // What workers push,
  Spec compress_weights = Spec::parse("none");  // and what they pull.
  Spec filter = Spec::parse("none");
  std::uint32_t batch = 32;                  // Examples.
  std::optional<std::uint32_t> local_steps;  // Mini-batches; nothing: a push for each.
  std::optional<Spec> outer_optimizer;       // Nothing: the policy's default.
  std::uint64_t seed = 1;
  Sampling sampling = Sampling::kEpoch;
  std::optional<update::Reduce> reduce;  // Nothing: the policy's default.
  server::Limits limits;
  std::optional<double> target_accuracy;  // A share.
  std::uint32_t consecutive = 3;
  bool past_target = false;
  std::uint64_t evaluate_every = 5120;  // Applied examples.
};
void declare(OptionList& options, Training& training);
void declare_steps_ahead(OptionList& options, bool& steps_ahead);
// Throws a usage error if there are no local steps, or if workers share processors: those are
// simulated by when each worker begins, in order.
void check_steps_ahead(bool steps_ahead, bool local_steps, std::uint32_t cores = 0);
// --keep-worker-state, of those that start real workers. The check is as that one.
void declare_keep_worker_state(OptionList& options, bool& kept);
void check_keep_worker_state(bool kept, bool local_steps);

// How many workers must take part, and how long the server waits for them.
struct Membership {
  std::uint32_t min_workers = 1;
  Duration heartbeat_timeout = std::chrono::seconds(5);
  AutoDuration progress_timeout;
  std::optional<Duration> patience;  // Nothing: as below.

  [[nodiscard]] Duration patience_to_begin() const {
    return patience.value_or(std::chrono::minutes(1));
  }
  [[nodiscard]] Duration patience_to_return() const {
    return patience.value_or(std::chrono::minutes(10));
  }
};

// Workers that may take part at the same time.
[[nodiscard]] std::uint32_t workers_at_most(const Training& training);

// The staleness rule in force, for people: given, or the policy's default; of a switch whose phases
// differ, "none then share". Throws a usage error for a rule with a policy that weighs staleness
// itself.
[[nodiscard]] std::string staleness_in_force(const Training& training);

// The learning rate in force: given, or the optimizer's default.
[[nodiscard]] double rate_in_force(const Training& training);

// As the user wrote it, or the policy's default.
[[nodiscard]] std::string outer_optimizer_in_force(const Training& training);

// Whether and how mini-batches are balanced. Throws a usage error that names the option.
[[nodiscard]] std::optional<policy::BalanceOptions> balance_in_force(const Training& training);

// How far `auto` may balance them by itself.
[[nodiscard]] policy::BalanceOptions may_balance(const Training& training);

// Whether the server's steps are as long whatever the gradient's length is. A script's optimizer
// is not known before its workers have come: until they tell, it counts as the one that the server
// takes if they bring none.
[[nodiscard]] bool scale_invariant(const Training& training);

// Throws a usage error if a runtime model is given to a policy that uses none.
void check_runtime_model(const Training& training);

// What the layers that compute are told.
struct Resolved {
  Spec policy;
  policy::PolicyInputs policy_inputs;
  server::CoordinatorOptions coordinator;  // But for job and examples.
  server::ShardOptions shard;
  compress::Compression compress;
  compress::WeightsKind compress_weights = compress::WeightsKind::kNone;
  server::Evaluations::Options target;
};
struct ResolveOptions {
  std::uint32_t workers_max;  // The most that this driver takes.
  // The file of --runtime-model; null without one.
  std::shared_ptr<const runtime_model::DeepWeights> fitted = nullptr;
};
// Throws a usage error that names the option that is wrong.
[[nodiscard]] Resolved resolve(const Training& training,
                               const Membership& membership,
                               const ResolveOptions& options);

}  // namespace outpace::job
