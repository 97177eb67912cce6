// Staleness rules and optimizers in a whole cluster: the shard is told of every release and of
// every worker that is gone.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "policy/policy.h"
#include "sim/cluster.h"

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;

// Half the squared distance to the mean of the mini-batch's points: example e is at e in every
// coordinate but its own, e modulo the size, where it is at -e.
class Bowl final : public worker::GradientSource {
 public:
  static constexpr std::uint64_t kExamples = 64;

  explicit Bowl(const std::vector<std::uint64_t>& tensors) {
    for (const std::uint64_t size : tensors) {
      manifest_.tensors.push_back({.name = "tensor", .shape = {size}});
    }
  }

  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return kExamples; }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return {1.0F, 2.0F, 3.0F, 4.0F, 5.0F};
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      float sum = 0.0F;
      for (const std::uint64_t example : examples) {
        const float at = static_cast<float>(example) / kExamples;
        sum += weights[i] - (example % gradient.size() == i ? -at : at);
      }
      gradient[i] = sum / static_cast<float>(examples.size());
    }
    return 0.0;
  }

 private:
  protocol::Manifest manifest_;
};

struct BowlJob {
  std::string staleness = "none";  // Empty: the policy's own.
  std::string optimizer = "sgd";
  std::string policy = "async";
  std::uint32_t workers = 4;
  std::vector<std::string> faults{};
  std::vector<std::uint64_t> tensors{3, 2};
  std::string filter = "none";
  std::string attack{};
  std::uint64_t epochs = 0;  // 0: 400 updates.
  double rate = 0.02;
  std::string runtimes = "exponential(mean=100ms)";
  Cluster::Decided decided{};
};

ClusterResult run_in_bowl(const BowlJob& job) {
  std::optional<update::StalenessRule> rule;
  if (!job.staleness.empty()) {
    rule = update::StalenessRule::parse(Spec::parse(job.staleness));
  }
  ClusterOptions options{
      .policy = Spec::parse(job.policy),
      .coordinator = {.workers = job.workers,
                      .batch = 4,
                      .examples = Bowl::kExamples,
                      .limits = {.updates = job.epochs == 0 ? 400U : 0U, .epochs = job.epochs},
                      .policy = Spec::parse(job.policy),
                      .staleness = rule,
                      .rate = job.rate},
      .shard = {.optimizer = Spec::parse(job.optimizer),
                .staleness = rule.value_or(update::StalenessRule::none()),
                .filter = update::FilterRule::parse(Spec::parse(job.filter))},
      .target = {},
      .latency = milliseconds(1)};
  if (!job.attack.empty()) {
    options.attacks.push_back(worker::Attack::parse(job.attack, job.workers));
  }
  for (const std::string& fault : job.faults) {
    options.faults.push_back(parse_fault(fault, job.workers));
  }
  DrawnTiming timing(
      Runtimes::parse(job.runtimes, {.workers = job.workers, .seed = 1, .read_file = {}}), {});
  Bowl bowl(job.tensors);
  Learning learning{bowl};
  return Cluster(options, timing, &learning, job.decided, nullptr).run();
}

const std::vector<std::string> kCorrections{
    "gap", "dcasgd:lambda=0.5", "dcasgd:adaptive", "dynsgd"};

TEST(ClusterUpdates, AreThoseOfNoRuleWhereNothingIsStale) {
  const std::vector<float> alone = run_in_bowl({.workers = 1}).weights;
  const std::vector<float> together = run_in_bowl({.policy = "sync"}).weights;
  for (const std::string& rule : kCorrections) {
    EXPECT_EQ(run_in_bowl({.staleness = rule, .workers = 1}).weights, alone) << rule;
    const std::vector<float> found = run_in_bowl({.staleness = rule, .policy = "sync"}).weights;
    for (std::size_t i = 0; i < together.size(); ++i) {
      // dynsgd takes a mean by its changes, and rounds otherwise: a handful of times a step.
      const float rounding = rule == "dynsgd" ? 1e-5F : 0.0F;
      EXPECT_NEAR(found[i], together[i], rounding) << rule;
    }
  }
}

TEST(ClusterUpdates, DifferByTheRuleWhereGradientsAreStale) {
  const std::vector<float> plain = run_in_bowl({}).weights;
  EXPECT_EQ(run_in_bowl({.staleness = "dcasgd:lambda=0"}).weights, plain);
  for (const std::string& rule : kCorrections) {
    EXPECT_NE(run_in_bowl({.staleness = rule}).weights, plain) << rule;
  }
}

TEST(ClusterUpdates, OutliveWorkersThatGoAndComeBack) {
  const std::vector<std::string> faults{"pause:worker=1,at=3s,for=6s",
                                        "lose:at=1s,for=5s,probability=0.05",
                                        "duplicate:at=1s,for=5s,probability=0.3,by=300ms"};
  for (const std::string& rule : kCorrections) {
    for (const char* policy : {"async", "ssp:s=2", "backup:cutoff=3", "softsync:n=2"}) {
      const BowlJob job{.staleness = rule, .policy = policy, .faults = faults};
      const ClusterResult found = run_in_bowl(job);
      EXPECT_EQ(found.code, ExitCode::kDone) << rule << ", " << policy;
      EXPECT_EQ(found.statistics.updates, 400U) << rule << ", " << policy;
      EXPECT_EQ(run_in_bowl(job).weights, found.weights) << rule << ", " << policy;
      for (const float weight : found.weights) {
        EXPECT_LT(std::abs(weight), 5.0F) << rule << ", " << policy;
      }
    }
  }
}

TEST(ClusterUpdates, OfADelayedNesterovAreNesterovsWhereEachUpdateIsARound) {
  const auto weights = [](const char* optimizer, const char* policy) {
    return run_in_bowl({.staleness = "", .optimizer = optimizer, .policy = policy}).weights;
  };
  EXPECT_EQ(weights("nesterov:over=delayed", "sync"), weights("nesterov", "sync"));
  EXPECT_EQ(weights("nesterov:over=delayed", "backup:cutoff=3"),
            weights("nesterov", "backup:cutoff=3"));
  EXPECT_NE(weights("nesterov:over=delayed", "async"), weights("nesterov", "async"));
}

// Rounds of four, and of three while a worker is away; then each update is one, or the other way
// round.
TEST(ClusterUpdates, DelayedNesterovFindsTheMinimumWithAnyWorkersUnderAnyPolicy) {
  const std::vector<float> minimum = run_in_bowl({.policy = "sync"}).weights;
  for (const char* policy : {"async",
                             "ssp:s=2",
                             "saps:s=8",
                             "kasync:k=3",
                             "switch(async until updates>203 then sync)",
                             "switch(sync until updates>203 then async)"}) {
    const BowlJob job{.staleness = "",
                      .optimizer = "nesterov:over=delayed",
                      .policy = policy,
                      .faults = {"crash:worker=1,at=3s,for=3s"}};
    const std::vector<float> found = run_in_bowl(job).weights;
    for (std::size_t i = 0; i < minimum.size(); ++i) {
      EXPECT_NEAR(found[i], minimum[i], 0.15F) << policy << ", weight " << i;
    }
  }
}

// Each tensor has a ratio of its own, and sgd knows none.
TEST(ClusterUpdates, GiveLambTheNetworksTensors) {
  for (const char* optimizer : {"sgd", "lamb"}) {
    const std::vector<float> apart = run_in_bowl({.optimizer = optimizer, .workers = 1}).weights;
    const std::vector<float> as_one =
        run_in_bowl({.optimizer = optimizer, .workers = 1, .tensors = {5}}).weights;
    EXPECT_EQ(apart == as_one, optimizer == std::string("sgd")) << optimizer;
  }
}

TEST(ClusterUpdates, ConvergeUnderYellowFinWithStaleGradients) {
  for (const char* optimizer : {"yellowfin", "yellowfin:gamma=0.01,tau=3"}) {
    for (const float weight : run_in_bowl({.optimizer = optimizer}).weights) {
      EXPECT_LT(std::abs(weight), 5.0F) << optimizer;
    }
  }
}

double farthest(const std::vector<float>& weights) {
  double found = 0.0;
  for (const float weight : weights) {
    // A NaN is farther than any number.
    found = std::isnan(weight) ? HUGE_VAL : std::max(found, std::abs(static_cast<double>(weight)));
  }
  return found;
}

// Gradients that are all about a round old; those of exponential runtimes are as good as momentum.
constexpr const char* kEven = "lognormal(mean=100ms,cv=0.2)";

// At a rate at which a synchronous run is stable, and whose steps are too long when each gradient
// of a round makes one.
TEST(ClusterUpdates, ConvergeAtTheRateOfASynchronousRun) {
  const auto at = [](const std::string& policy, const std::string& staleness) {
    return farthest(run_in_bowl({.staleness = staleness,
                                 .policy = policy,
                                 .workers = 8,
                                 .epochs = 60,
                                 .rate = 0.5,
                                 .runtimes = kEven})
                        .weights);
  };
  EXPECT_LT(at("sync", ""), 1.5);
  EXPECT_GT(at("async", "none"), 100.0);
  EXPECT_GT(at("switch(sync until updates>20 then async)", "none"), 100.0);
  for (const char* policy : {"async",
                             "kasync:k=4",
                             "kbatchasync:k=4",
                             "softsync:n=4",
                             "ssp:s=0",
                             "ssp:s=3",
                             "dssp:low=1,high=6",
                             "psp:beta=8,s=0",
                             "psp:beta=2,s=3",
                             "saps:s=14",
                             "saps:s=14,action=refresh",
                             "saps:s=14,action=shrink",
                             "saps:s=14,action=dampen",
                             "switch(sync until updates>20 then async)",
                             "switch(sync until updates>20 then ssp:s=0)",
                             "switch(async until updates>160 then sync)"}) {
    EXPECT_LT(at(policy, ""), 1.5) << policy;
  }
}

// The same of a velocity that spans ten rounds.
TEST(ClusterUpdates, ConvergeWithMomentumAtTheRateOfASynchronousRun) {
  const auto at = [](const std::string& policy, const std::string& optimizer) {
    return farthest(run_in_bowl({.staleness = "",
                                 .optimizer = optimizer,
                                 .policy = policy,
                                 .workers = 8,
                                 .epochs = 200,
                                 .rate = 0.2,
                                 .runtimes = kEven})
                        .weights);
  };
  EXPECT_GT(at("async", "momentum:over=update"), 100.0);
  for (const char* optimizer : {"momentum", "nesterov"}) {
    EXPECT_LT(at("sync", optimizer), 1.5) << optimizer;
    for (const char* policy : {"async",
                               "kasync:k=4",
                               "softsync:n=4",
                               "ssp:s=0",
                               "ssp:s=3",
                               "psp:beta=2,s=3",
                               "saps:s=14",
                               "switch(sync until updates>100 then async)"}) {
      EXPECT_LT(at(policy, optimizer), 2.0) << policy << ", " << optimizer;
    }
  }
}

// The last examples are not handed from attacker to attacker for ever, nor kept by who was too
// often taken up.
TEST(ClusterUpdates, UseEveryExampleThoughWorkersAreTurnedAway) {
  for (const char* policy : {"async",
                             "ssp:s=2",
                             "softsync:n=4",
                             "kbatchasync:k=2",
                             "kasync:k=2",
                             "saps:s=12,action=preempt",
                             "psp:beta=2,s=1"}) {
    for (const char* filter : {"none", "kardam:f=2"}) {
      for (const char* attack : {"", "signflip:workers=0+1,scale=10", "nan:workers=0+1"}) {
        if (std::string(filter) == "none" && attack[0] == 's') {
          continue;
        }
        const BowlJob job{
            .policy = policy, .workers = 8, .filter = filter, .attack = attack, .epochs = 20};
        const ClusterResult found = run_in_bowl(job);
        const std::string which = std::string(policy) + ", " + filter + ", " + attack;
        EXPECT_EQ(found.why, "epochs done") << which;
        EXPECT_EQ(found.statistics.examples_applied, 20 * Bowl::kExamples) << which;
        EXPECT_EQ(found.statistics.examples_used_per_epoch_max, 1U) << which;
        EXPECT_EQ(run_in_bowl(job).hash, found.hash) << which;
      }
    }
  }
}

TEST(ClusterUpdates, StandAttackersWithAFilter) {
  const std::vector<float> plain = run_in_bowl({.policy = "sync", .workers = 8}).weights;
  for (const char* filter : {"median", "trimmed:f=2", "krum:f=2"}) {
    BowlJob job{.policy = "sync", .workers = 8, .filter = filter};
    const std::vector<float> right = run_in_bowl(job).weights;
    job.attack = "signflip:workers=0+1,scale=10";
    const std::vector<float> found = run_in_bowl(job).weights;
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_NEAR(found[i], right[i], 0.5) << filter;
    }
    job.filter = "none";
    EXPECT_GT(std::abs(run_in_bowl(job).weights[0] - plain[0]), 10.0F);
  }
}

TEST(ClusterUpdates, TellThePolicyTheirNormsIfItAsks) {
  const auto norms_heard = [](const std::string& policy) {
    std::vector<double> heard;
    (void)run_in_bowl(
        {.policy = policy,
         .decided = [&](Time, const policy::Event& event, const policy::Decision& decision) {
           if (const auto* measured = std::get_if<policy::Measured>(&event)) {
             EXPECT_TRUE(decision.actions.empty());
             EXPECT_EQ(count(measured->version), heard.size() / 2 + 1);  // Each version's two.
             const bool single = measured->what == policy::Measure::kSingleGradientNorm;
             EXPECT_EQ(single, heard.size() % 2 == 0);
             heard.push_back(measured->value);
           }
         }});
    return heard;
  };
  EXPECT_TRUE(norms_heard("dynamic:model=last").empty());
  const std::vector<double> heard = norms_heard("dynamic:model=last,objective=progress");
  EXPECT_GE(heard.size(), 2U * 399U);  // The last one's come after the end.
  for (std::size_t i = 0; i + 1 < heard.size(); i += 2) {
    EXPECT_GT(heard[i + 1], 0.0);
    EXPECT_LE(heard[i + 1], heard[i] * (1.0 + 1e-6));  // A mean is no longer than what is in it.
  }
}

}  // namespace
}  // namespace outpace::sim
