// What faults do to a whole cluster, and that it gets over them.

#include <gtest/gtest.h>

#include "policy/catalogue.h"
#include "sim/cluster.h"
#include "worker/ledger.h"

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct LedgerJob {
  std::vector<std::string> faults;
  std::string policy = "async";
  std::string runtime = "constant(mean=100ms)";
  std::uint32_t workers = 2;
  server::Limits limits{.epochs = 40};
  Duration latency = milliseconds(1);
  std::optional<Duration> progress_timeout = std::nullopt;
};

// 64 examples in mini-batches of 4 make 16 gradients an epoch. The weights count the uses.
ClusterResult run_with_ledger(const LedgerJob& job) {
  const auto policy = policy::make_policy(Spec::parse(job.policy), job.workers);
  ClusterOptions options{.policy = Spec::parse(job.policy),
                         .coordinator = {.workers = job.workers,
                                         .batch = 4,
                                         .examples = 64,
                                         .limits = job.limits,
                                         // Each example of an update moves its number by one.
                                         .rate = 4.0 * policy->nominal_cutoff(job.workers),
                                         .rate_scale = update::RateScale::kLinear,
                                         .progress_timeout = job.progress_timeout},
                         .shard = {.optimizer = Spec::parse("sgd")},
                         .target = {},
                         .latency = job.latency};
  for (const std::string& fault : job.faults) {
    options.faults.push_back(parse_fault(fault, job.workers));
  }
  DrawnTiming timing(
      Runtimes::parse(job.runtime, {.workers = job.workers, .seed = 1, .read_file = {}}), {});
  worker::Ledger ledger(64);
  Learning learning{ledger};
  return Cluster(options, timing, &learning, nullptr, nullptr).run();
}

void expect_each_example_used(const ClusterResult& found, float times) {
  EXPECT_EQ(found.why, "epochs done");
  for (const float weight : found.weights) {
    ASSERT_EQ(weight, -times);
  }
}

TEST(ClusterFaults, WhoJoinsLaterComputesFromThenOn) {
  // Two workers for a minute, four from then on: every mini-batch takes 100 ms.
  const ClusterResult found =
      run_with_ledger({.faults = {"join:worker=2,at=1m", "join:worker=3,at=60s"},
                       .workers = 4,
                       .limits = {.seconds = milliseconds(90'050)},
                       .latency = Duration{}});
  EXPECT_EQ(found.faults.joined_late, 2U);
  EXPECT_EQ(found.statistics.workers[0].accepted, 900U);
  EXPECT_EQ(found.statistics.workers[1].accepted, 900U);
  EXPECT_EQ(found.statistics.workers[2].accepted, 300U);
  EXPECT_EQ(found.statistics.workers[3].accepted, 300U);
}

TEST(ClusterFaults, ARunBeginsWithTheFirstWhereAllJoinLater) {
  const ClusterResult found = run_with_ledger(
      {.faults = {"join:worker=0,at=5s", "join:worker=1,at=2s"}, .limits = {.updates = 40}});
  EXPECT_EQ(found.statistics.workers[1].incarnations, 1U);
  EXPECT_GT(found.statistics.workers[1].accepted, found.statistics.workers[0].accepted);
}

TEST(ClusterFaults, ARoundWaitsForWhoHasJoined) {
  const ClusterResult found =
      run_with_ledger({.faults = {"join:worker=2,at=10s"}, .policy = "sync", .workers = 3});
  EXPECT_EQ(found.statistics.workers[2].incarnations, 1U);
  EXPECT_EQ(found.statistics.gradients_dropped, 0U);
  EXPECT_GT(found.statistics.workers[0].accepted, found.statistics.workers[2].accepted);
}

TEST(ClusterFaults, AShortPauseOnlyMovesWhatTheWorkerDoes) {
  // Mini-batches of 102 ms with the messages; half a second of standing still is 500 ms more.
  const LedgerJob job{.workers = 1, .limits = {.updates = 100}};
  LedgerJob paused = job;
  paused.faults = {"pause:worker=0,at=1s,for=500ms"};
  const ClusterResult found = run_with_ledger(paused);
  EXPECT_EQ(found.statistics.last_commit,
            run_with_ledger(job).statistics.last_commit + milliseconds(500));
  EXPECT_EQ(found.faults.paused, 1U);
  EXPECT_EQ(found.statistics.workers[0].incarnations, 1U);
}

TEST(ClusterFaults, APauseBeyondTheTimeoutCostsTheIncarnationAndNoExample) {
  const ClusterResult found = run_with_ledger({.faults = {"pause:worker=1,at=10s,for=20s"}});
  EXPECT_EQ(found.faults.presumed_dead, 1U);
  EXPECT_EQ(found.statistics.workers[1].incarnations, 2U);
  EXPECT_EQ(found.statistics.workers[1].lost, 1U);
  expect_each_example_used(found, 40);
}

TEST(ClusterFaults, AWorkerThatHangsIsSetAsideAndComesBack) {
  for (const char* policy : {"sync", "async", "ssp:s=2", "backup:cutoff=2", "softsync:n=2"}) {
    SCOPED_TRACE(policy);
    const ClusterResult found =
        run_with_ledger({.faults = {"hang:worker=1,at=10s,for=45s"},
                         .policy = policy,
                         // Where all take the same time, one is always last.
                         .runtime = "gamma(mean=100ms,cv=0.5)",
                         .workers = 3,
                         .limits = {.epochs = 200}});
    EXPECT_EQ(found.faults.hung, 1U);
    EXPECT_EQ(found.faults.stalled, 1U);
    EXPECT_EQ(found.faults.presumed_dead, 0U);
    EXPECT_EQ(found.statistics.workers[1].stalls, 1U);
    EXPECT_EQ(found.statistics.workers[1].incarnations, 1U);
    EXPECT_GT(found.statistics.workers[1].accepted, 100U) << "it works again";
    expect_each_example_used(found, 200);
  }
}

TEST(ClusterFaults, AHangToTheEndOfTheRunHoldsNobodyUp) {
  const ClusterResult found = run_with_ledger({.faults = {"hang:worker=1,at=3s,for=1000s"},
                                               .limits = {.epochs = 4},
                                               .progress_timeout = seconds(2)});
  EXPECT_TRUE(found.statistics.workers[1].stalled);
  expect_each_example_used(found, 4);
}

TEST(ClusterFaults, APartitionShorterThanTheTimeoutOnlyDelays) {
  const ClusterResult found = run_with_ledger({.faults = {"partition:workers=1,at=10s,for=3s"}});
  EXPECT_EQ(found.faults.presumed_dead, 0U);
  EXPECT_GT(found.faults.messages.held, 0U);
  EXPECT_EQ(found.statistics.workers[1].incarnations, 1U);
  expect_each_example_used(found, 40);
}

TEST(ClusterFaults, APartitionBeyondTheTimeoutIsHealedByANewIncarnation) {
  const ClusterResult found =
      run_with_ledger({.faults = {"partition:workers=1,at=10s,for=15s"}, .policy = "sync"});
  EXPECT_EQ(found.faults.presumed_dead, 1U);
  EXPECT_EQ(found.statistics.workers[1].incarnations, 2U);
  EXPECT_GT(found.statistics.workers[1].accepted, 100U) << "it works on after the heal";
  expect_each_example_used(found, 40);
}

TEST(ClusterFaults, ALostMessageCostsTheConnectionAndNoExample) {
  const ClusterResult found = run_with_ledger({.faults = {"lose:at=5s,for=20s,probability=0.05"}});
  EXPECT_GT(found.faults.messages.lost, 2U);
  EXPECT_EQ(found.statistics.workers[0].incarnations + found.statistics.workers[1].incarnations,
            2U + found.faults.messages.lost);
  expect_each_example_used(found, 40);
}

TEST(ClusterFaults, ARepeatedPushAndALateOneOfAnOldConnectionAreNotApplied) {
  const ClusterResult found =
      run_with_ledger({.faults = {"duplicate:at=0s,for=30s,probability=0.5,by=1s",
                                  "reorder:at=0s,for=30s,probability=0.2,by=300ms",
                                  "lose:at=5s,for=20s,probability=0.05"}});
  EXPECT_GT(found.faults.messages.duplicated, 100U);
  EXPECT_GT(found.faults.messages.reordered, 50U);
  expect_each_example_used(found, 40);
}

TEST(ClusterFaults, ClogsAreSurvivedByEveryPolicy) {
  for (const char* policy : {"sync", "backup:cutoff=3", "async", "softsync:n=2", "ssp:s=2"}) {
    const ClusterResult found =
        run_with_ledger({.faults = {"clog:at=3s,for=8s,step=500ms,share=0.6",
                                    "delay:at=2s,for=9s,probability=0.1,by=200ms"},
                         .policy = policy,
                         .workers = 6,
                         .limits = {.updates = 300}});
    EXPECT_EQ(found.why, "updates done") << policy;
  }
}

TEST(ClusterFaults, AreAFunctionOfTheOptions) {
  const LedgerJob job{.faults = {"duplicate:at=0s,for=30s,probability=0.5,by=1s",
                                 "lose:at=5s,for=20s,probability=0.05",
                                 "clog:at=3s,for=8s,step=500ms,share=0.6"}};
  EXPECT_EQ(run_with_ledger(job).hash, run_with_ledger(job).hash);
}

TEST(ClusterFaults, AWorkerThatLeftForGoodDoesNotComeBackOverANewConnection) {
  // Every message is lost until 5 s; worker 1 crashes between two tries.
  const ClusterResult found =
      run_with_ledger({.faults = {"lose:at=1s,for=4s,probability=1", "crash:worker=1,at=3005ms"},
                       .limits = {.updates = 200}});
  EXPECT_EQ(found.why, "updates done");
  EXPECT_FALSE(found.statistics.workers[1].live);
}

}  // namespace
}  // namespace outpace::sim
