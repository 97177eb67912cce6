#include "throughput/whatif.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "base/error.h"
#include "sim/cluster.h"

namespace outpace::throughput {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kBatch = 4;

// A simulated run and its record: what a live one leaves behind, without files.
class Recorder {
 public:
  struct Phases {
    std::uint32_t local_steps = 0;
    Duration latency{};
    std::optional<double> noise_scale{};  // In gradients.
  };
  Recorder(std::uint32_t workers, const Phases& phases) : workers_(workers), phases_(phases) {
    run_.workers.resize(workers);
  }

  policy::RecordedRun run(const std::string& policy, const std::string& runtime) {
    sim::ClusterOptions options{.policy = Spec::parse(policy),
                                .policy_inputs = {.local_steps = phases_.local_steps},
                                .coordinator = {.workers = workers_,
                                                .batch = kBatch,
                                                .examples = 1'000'000,
                                                .limits = {.seconds = seconds(20)}},
                                .shard = {.optimizer = Spec::parse("sgd")},
                                .target = {},
                                .latency = phases_.latency,
                                .noise_scale = phases_.noise_scale};
    if (phases_.local_steps > 0) {
      options.coordinator.local_steps = {
          .most = phases_.local_steps, .optimizer = "sgd", .schedule = {}};
    }
    const std::unique_ptr<sim::Timing> timing = timing_of(runtime);
    sim::Cluster cluster(
        options,
        *timing,
        nullptr,
        [this](Time now, const policy::Event& event, const policy::Decision& /*decision*/) {
          if (const auto* arrived = std::get_if<policy::GradientArrived>(&event)) {
            run_.workers[index(arrived->worker)].iterations.push_back(
                {.begin = now - arrived->runtime,
                 .end = now,
                 .share = 1.0 * arrived->examples / arrived->nominal,
                 .partial = arrived->partial});
          }
        },
        nullptr);
    const server::Statistics done = cluster.run().statistics;
    run_.policy = policy;
    run_.given.local_steps = phases_.local_steps;
    for (policy::RecordedWorker& worker : run_.workers) {
      worker.communication_seconds = 2.0 * to_seconds(phases_.latency);
    }
    run_.batch = kBatch * std::max(1U, phases_.local_steps);
    run_.last_commit = done.last_commit;
    run_.examples = done.examples_applied;
    run_.noise_scale = done.gradient_noise_scale;
    return run_;
  }

 private:
  [[nodiscard]] std::unique_ptr<sim::Timing> timing_of(const std::string& runtime) const {
    std::unique_ptr<sim::Timing> drawn = std::make_unique<sim::DrawnTiming>(
        sim::Runtimes::parse(runtime, {.workers = workers_, .seed = 7, .read_file = {}}),
        std::vector<double>{});
    return phases_.local_steps == 0
               ? std::move(drawn)
               : std::make_unique<sim::SteppedTiming>(std::move(drawn), phases_.local_steps);
  }

  const std::uint32_t workers_;
  const Phases phases_;
  policy::RecordedRun run_;
};

policy::RecordedRun recorded(const std::string& policy,
                             const std::string& runtime,
                             std::uint32_t workers,
                             const Recorder::Phases& phases = {}) {
  return Recorder(workers, phases).run(policy, runtime);
}

// Three fast workers and one that takes four times as long.
policy::RecordedRun uneven() {
  return recorded("sync", "3*constant(100ms),1*constant(400ms)", 4);
}

TEST(WhatIf, ConstantRuntimesUnderSyncAreReplayedToTheExample) {
  const policy::RecordedRun run = uneven();
  EXPECT_DOUBLE_EQ(run.examples_per_second(), 4 * kBatch / 0.4);
  EXPECT_DOUBLE_EQ(WhatIf(run, {}).replayed_examples_per_second(), 4 * kBatch / 0.4);
}

TEST(WhatIf, RandomRuntimesAreReplayedToTheExampleUnderTheirOwnPolicy) {
  const policy::RecordedRun run = recorded("sync", "lognormal(mean=100ms,cv=0.5)", 8);
  EXPECT_DOUBLE_EQ(WhatIf(run, {}).replayed_examples_per_second(), run.examples_per_second());
}

TEST(WhatIf, OnlyWhatWasOpenAtTheEndOfARecordIsNotKnown) {
  for (const char* policy : {"async", "ssp:s=3", "softsync:n=2"}) {
    SCOPED_TRACE(policy);
    const policy::RecordedRun run = recorded(policy, "lognormal(mean=100ms,cv=0.5)", 8);
    EXPECT_NEAR(WhatIf(run, {}).replayed_examples_per_second() * to_seconds(run.last_commit),
                static_cast<double>(run.examples),
                8 * kBatch);
  }
}

TEST(WhatIf, WithoutTheSlowWorkerAnUpdateTakesWhatTheOthersDo) {
  const Answer answer = WhatIf(uneven(), {}).without(3);
  EXPECT_EQ(answer.question, "without worker 3");
  EXPECT_EQ(answer.workers, 3U);
  EXPECT_DOUBLE_EQ(answer.examples_per_second, 3 * kBatch / 0.1);
  EXPECT_DOUBLE_EQ(answer.ratio, 3.0);
  EXPECT_DOUBLE_EQ(answer.low.value(), 3.0);
  EXPECT_DOUBLE_EQ(answer.high.value(), 3.0);
}

TEST(WhatIf, WithoutAFastWorkerOneGradientLessComes) {
  EXPECT_DOUBLE_EQ(WhatIf(uneven(), {}).without(0).ratio, 0.75);
}

TEST(WhatIf, AtTheMedianAllAreFast) {
  EXPECT_DOUBLE_EQ(WhatIf(uneven(), {}).at_the_median().ratio, 4.0);
}

TEST(WhatIf, UnderAnotherPolicyTheSameCodeDecides) {
  const WhatIf whatif(uneven(), {});
  EXPECT_DOUBLE_EQ(whatif.under("backup:cutoff=3").examples_per_second, 3 * kBatch / 0.1);
  // Three workers give 10 gradients a second, one 2.5. The last moment of the run has four.
  EXPECT_NEAR(whatif.under("async").examples_per_second, 32.5 * kBatch, 0.001 * 32.5 * kBatch);
}

TEST(WhatIf, ProgressIsToldWhereTheNoiseIsKnown) {
  policy::RecordedRun run = uneven();
  EXPECT_FALSE(WhatIf(run, {}).without(3).progress.has_value());
  run.noise_scale = 2.0 * kBatch;
  const WhatIf whatif(run, {});
  EXPECT_DOUBLE_EQ(whatif.as_it_was().progress.value(), 1.0);
  // 10 gradients a second in updates of four, and 30 in updates of three.
  EXPECT_DOUBLE_EQ(whatif.without(3).progress.value(), (30.0 / (2 + 3)) / (10.0 / (2 + 4)));
  // More gradients than rounds of three have, and they are staler.
  EXPECT_GT(whatif.under("async").ratio, whatif.under("backup:cutoff=3").ratio);
  EXPECT_LT(whatif.under("async").progress.value(),
            whatif.under("backup:cutoff=3").progress.value());
}

TEST(WhatIf, PoliciesThatGoByTheNoiseHearOfIt) {
  const std::string runtime = "lognormal(mean=100ms,cv=0.5)";
  const std::string progress = "dynamic:objective=progress";
  // Where two gradients tell almost all, it waits for few.
  const Recorder::Phases phases{.noise_scale = 0.2};
  policy::RecordedRun run = recorded("sync", runtime, 8, phases);
  EXPECT_FALSE(run.noise_scale.has_value()) << "nobody asked for it";
  run.noise_scale = 0.2 * kBatch;
  const policy::RecordedRun truth = recorded(progress, runtime, 8, phases);
  EXPECT_NEAR(truth.noise_scale.value_or(0.0), 0.2 * kBatch, 1e-6);
  const WhatIf whatif(run, {.resamplings = 0});
  const double told = whatif.under(progress).examples_per_second;
  EXPECT_NEAR(told / truth.examples_per_second(), 1.0, 0.05);
  EXPECT_GT(whatif.under("dynamic").examples_per_second, 1.3 * told)
      << "which goes by gradients a second";
}

TEST(WhatIf, AutoChoosesWhereTheNoiseIsKnown) {
  policy::RecordedRun run = uneven();
  EXPECT_THROW((void)WhatIf(run, {}).under("auto"), Error);
  EXPECT_THROW((void)WhatIf(run, {}).under("dynamic:objective=progress"), Error);
  run.noise_scale = 100.0 * kBatch;
  EXPECT_GT(WhatIf(run, {}).under("auto").ratio, 2.0);
}

TEST(WhatIf, WhatTheRunReachedIsReachedAsMuchSooner) {
  policy::RecordedRun run = uneven();
  run.reached = {.what = "84.0 %", .seconds = 36.0};
  EXPECT_FALSE(WhatIf(run, {}).without(3).seconds_to_reached.has_value()) << "no noise scale";
  run.noise_scale = 2.0 * kBatch;
  const WhatIf whatif(run, {});
  EXPECT_DOUBLE_EQ(whatif.as_it_was().seconds_to_reached.value(), 36.0);
  EXPECT_DOUBLE_EQ(whatif.without(3).seconds_to_reached.value(), 36.0 * (10.0 / 6) / (30.0 / 5));
}

TEST(WhatIf, ProgressOfPhasesIsNotKnown) {
  policy::RecordedRun run = recorded("sync", "constant(100ms)", 2, {.local_steps = 2});
  run.noise_scale = 8.0;
  EXPECT_FALSE(WhatIf(run, {}).without(1).progress.has_value());
}

TEST(WhatIf, TwiceAsManyWorkersDoTwiceAsMuch) {
  const Answer answer = WhatIf(uneven(), {}).with_workers(8);
  EXPECT_EQ(answer.workers, 8U);
  EXPECT_DOUBLE_EQ(answer.ratio, 2.0);
}

TEST(WhatIf, AFasterLinkIsToldOnlyWhereCommunicationIs) {
  policy::RecordedRun run = uneven();
  EXPECT_FALSE(WhatIf(run, {}).with_a_faster_link().has_value());
  run.workers[3].communication_seconds = 0.3;
  EXPECT_DOUBLE_EQ(WhatIf(run, {}).with_a_faster_link().value().ratio, 0.4 / 0.25);
}

TEST(WhatIf, AllIsLostToTheOneThatIsSlow) {
  const auto lost = WhatIf(uneven(), {}).lost_to_workers();
  ASSERT_EQ(lost.size(), 4U);
  for (const LostTo& one : lost) {
    EXPECT_NEAR(one.share, index(one.worker) == 3 ? 0.75 : 0.0, 1e-12);
    EXPECT_NEAR(one.alone, index(one.worker) == 3 ? 0.75 : 0.0, 1e-12);
  }
}

TEST(WhatIf, TwoThatAreEquallySlowShareWhatIsLost) {
  const policy::RecordedRun run = recorded("sync", "3*constant(100ms),2*constant(400ms)", 5);
  const auto lost = WhatIf(run, {}).lost_to_workers();
  for (const LostTo& one : lost) {
    EXPECT_NEAR(one.share, index(one.worker) >= 3 ? 0.375 : 0.0, 1e-12);
    EXPECT_NEAR(one.alone, 0.0, 1e-12);
  }
}

TEST(WhatIf, WhatWasSlowForAWhileIsSlowAtThatTimeUnderAnotherPolicyToo) {
  // Worker 1 takes 400 ms in the first half of the run and 100 ms in the second.
  policy::RecordedRun run = recorded("sync", "constant(100ms)", 2);
  run.workers[1].iterations.clear();
  run.workers[0].iterations.clear();
  Time now{};
  run.examples = 0;
  while (now < Time{seconds(20)}) {
    const auto slow = std::chrono::milliseconds(now < Time{seconds(10)} ? 400 : 100);
    run.workers[0].iterations.push_back(
        {.begin = now, .end = now + std::chrono::milliseconds(100)});
    run.workers[1].iterations.push_back({.begin = now, .end = now + slow});
    now += slow;
    run.examples += 2 * kBatch;
  }
  run.last_commit = now;
  const WhatIf whatif(run, {});
  EXPECT_DOUBLE_EQ(whatif.replayed_examples_per_second(), run.examples_per_second());
  // 10 gradients a second of the one; 2.5, then 10 of the other.
  EXPECT_NEAR(whatif.under("async").examples_per_second, (10 + 0.5 * (2.5 + 10)) * kBatch, 0.5);
}

TEST(WhatIf, ChanceIsDrawnAnewUnderAnotherPolicyAndSlowPeriodsAreNot) {
  // Under sync an update takes as long as the slowest of eight, so that async has several
  // mini-batches where one was recorded.
  for (const char* runtime :
       {"lognormal(mean=100ms,cv=0.3)",
        "markov(fast=normal(mean=100ms,cv=0.1),slow=normal(mean=400ms,cv=0.1),fast_for=5s,"
        "slow_for=1s)"}) {
    SCOPED_TRACE(runtime);
    const policy::RecordedRun run = recorded("sync", runtime, 8);
    for (const char* policy : {"async", "backup:cutoff=6"}) {
      SCOPED_TRACE(policy);
      const double truth = recorded(policy, runtime, 8).examples_per_second();
      // The record has 20 s, which is some 200 updates of a policy that waits.
      EXPECT_NEAR(WhatIf(run, {}).under(policy).examples_per_second / truth, 1.0, 0.05);
    }
  }
}

TEST(WhatIf, WhoWasAwayIsAway) {
  policy::RecordedRun run = recorded("async", "constant(100ms)", 2);
  std::erase_if(run.workers[1].iterations, [](const policy::RecordedIteration& one) {
    return one.end > Time{seconds(5)} && one.begin < Time{seconds(15)};
  });
  run.workers[1].absences = {{.from = Time{seconds(5)}, .until = Time{seconds(15)}}};
  const WhatIf whatif(run, {});
  EXPECT_NEAR(whatif.replayed_examples_per_second(), 15.0 * kBatch, 0.1 * kBatch);
}

TEST(WhatIf, OfWhomNothingIsKnownIsAway) {
  policy::RecordedRun run = uneven();
  run.workers[3].iterations.clear();
  const WhatIf whatif(run, {});
  EXPECT_EQ(whatif.unknown(), (std::vector{WorkerId{3}}));
  EXPECT_DOUBLE_EQ(whatif.replayed_examples_per_second(), 3 * kBatch / 0.1);
}

TEST(WhatIf, IsAFunctionOfItsSeed) {
  const policy::RecordedRun run = recorded("sync", "lognormal(mean=100ms,cv=0.5)", 8);
  const Answer first = WhatIf(run, {.seed = 3}).under("async");
  const Answer again = WhatIf(run, {.seed = 3}).under("async");
  EXPECT_EQ(first.ratio, again.ratio);
  EXPECT_EQ(first.low, again.low);
  EXPECT_LT(first.low.value(), first.high.value());
}

// A worker that is cut off finishes the mini-batch that it is at, and is told so over a message.
TEST(WhatIf, PartsOfPhasesCountUnderAnotherPolicy) {
  for (const auto latency : {seconds(0) + Duration{}, Duration{std::chrono::milliseconds(20)}}) {
    const Recorder::Phases phases{.local_steps = 10, .latency = latency};
    const auto uneven_phases = [&](const std::string& policy) {
      return recorded(policy, "3*constant(10ms),1*constant(40ms)", 4, phases);
    };
    for (const char* from : {"sync", "backup:cutoff=3", "async"}) {
      const policy::RecordedRun run = uneven_phases(from);
      const WhatIf whatif(run, {.resamplings = 0});
      for (const char* policy : {"sync", "backup:cutoff=3", "dynamic", "async"}) {
        SCOPED_TRACE(std::string(from) + " to " + policy);
        const double truth = uneven_phases(policy).examples_per_second();
        EXPECT_NEAR(whatif.under(policy).examples_per_second / truth, 1.0, 0.01);
      }
    }
  }
  // By hand, without messages: 30 mini-batches in 100 ms, and the slow worker's third ends at 120.
  const policy::RecordedRun run =
      recorded("sync", "3*constant(10ms),1*constant(40ms)", 4, {.local_steps = 10});
  EXPECT_DOUBLE_EQ(run.examples_per_second(), 40 * kBatch / 0.4);
  EXPECT_NEAR(
      WhatIf(run, {}).under("backup:cutoff=3").examples_per_second, 33 * kBatch / 0.12, 0.1);
}

TEST(WhatIf, ALinkTwiceAsFastHalvesTheMessagesOfPhases) {
  const policy::RecordedRun run = recorded(
      "sync", "constant(10ms)", 4, {.local_steps = 10, .latency = std::chrono::milliseconds(20)});
  EXPECT_DOUBLE_EQ(WhatIf(run, {}).with_a_faster_link().value().ratio, 0.14 / 0.12);
}

TEST(WhatIf, RefusesPhasesThatAreNoWholeMiniBatches) {
  policy::RecordedRun run = recorded("sync", "constant(10ms)", 2, {.local_steps = 10});
  run.given.local_steps = 7;
  EXPECT_THROW(WhatIf(run, {}), Error);
}

TEST(WhatIf, RefusesWhatThereIsNot) {
  const WhatIf whatif(uneven(), {});
  EXPECT_THROW((void)whatif.without(4), Error);
  EXPECT_THROW((void)whatif.under("asink"), Error);
  EXPECT_THROW((void)whatif.under("backup:cutoff=5"), Error);
  EXPECT_THROW((void)whatif.under("switch(sync until accuracy>0.5 then async)"), Error);
  EXPECT_THROW((void)whatif.with_workers(0), Error);
  EXPECT_THROW((void)whatif.with_workers(kWhatIfWorkersMax + 1), Error);
  EXPECT_THROW(WhatIf(policy::RecordedRun{.policy = "sync",
                                          .workers = std::vector<policy::RecordedWorker>(2)},
                      {}),
               Error);
}

}  // namespace
}  // namespace outpace::throughput
