#include <algorithm>

#include <gtest/gtest.h>

#include "policy/switch.h"
#include "server/coordinator.h"

namespace outpace::server {
namespace {

// A coordinator with the workers' side of the conversation: who has which release open.
class Job {
 public:
  Job(const std::string& policy, CoordinatorOptions options)
      : options_(options),
        coordinator_(
            options,
            std::make_unique<policy::Switch>(Spec::parse(policy), options.workers),
            [this](Time /*now*/, const policy::Event& event, const policy::Decision& /*decision*/) {
              if (const auto* measured = std::get_if<policy::Measured>(&event)) {
                measured_.push_back(*measured);
              }
              if (const auto* ended = std::get_if<policy::ReleaseEnded>(&event)) {
                ended_.push_back(*ended);
              }
            },
            Time{}),
        open_(options.workers) {
    for (std::uint32_t worker = 0; worker < options.workers; ++worker) {
      Effects effects;
      EXPECT_TRUE(
          coordinator_.join(Time{}, {.worker = WorkerId{worker}, .incarnation = 1}, effects));
      note(effects);
    }
  }

  [[nodiscard]] protocol::Push answer(std::uint32_t worker) const {
    const protocol::Release& release = *open_[worker];
    return {.id = {.job = options_.job,
                   .generation = options_.generation,
                   .worker = WorkerId{worker},
                   .incarnation = 1,
                   .sequence = release.sequence},
            .examples = static_cast<std::uint32_t>(total_size(release.ranges)),
            .partial = false,
            .loss = 1.0,
            .compute_seconds = 0.0};
  }
  Effects push(const protocol::Push& push,
               update::Judgement judgement = update::Judgement::kSound,
               Time now = {}) {
    Effects effects;
    coordinator_.push(now, push, judgement, effects);
    note(effects);
    return effects;
  }
  Effects push(std::uint32_t worker) { return push(answer(worker)); }
  Effects give_up(std::uint32_t worker, protocol::GivenUp why) {
    Effects effects;
    coordinator_.abandon(Time{}, {answer(worker).id, why}, effects);
    note(effects);
    return effects;
  }
  Effects die(std::uint32_t worker) {
    Effects effects;
    coordinator_.leave(Time{}, WorkerId{worker}, 1, policy::Departure::kDead, effects);
    note(effects);
    return effects;
  }
  // The release that a worker computes, if it has one.
  [[nodiscard]] const std::optional<protocol::Release>& open(std::uint32_t worker) const {
    return open_[worker];
  }
  [[nodiscard]] const Coordinator& coordinator() const { return coordinator_; }
  Effects set_policy(const std::string& policy) {
    Effects effects;
    coordinator_.set_policy(Time{}, policy, effects);
    note(effects);
    return effects;
  }
  // What the policy was told.
  [[nodiscard]] const std::vector<policy::Measured>& measured() const { return measured_; }
  [[nodiscard]] const std::vector<policy::ReleaseEnded>& ended() const { return ended_; }

 private:
  void note(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* sent = std::get_if<Send>(&effect)) {
        if (const auto* release = std::get_if<protocol::Release>(&sent->message)) {
          open_[index(sent->worker)] = *release;
        }
      }
    }
  }

  CoordinatorOptions options_;
  std::vector<policy::Measured> measured_;
  std::vector<policy::ReleaseEnded> ended_;
  Coordinator coordinator_;
  std::vector<std::optional<protocol::Release>> open_;
};

template <typename Kind>
std::vector<Kind> all(const Effects& effects) {
  std::vector<Kind> found;
  for (const Effect& effect : effects) {
    if (const auto* one = std::get_if<Kind>(&effect)) {
      found.push_back(*one);
    }
  }
  return found;
}

// The policy, the record and the statistics have the runtime of a refused gradient from one
// measurement.
TEST(CoordinatorActions, TellTheRuntimeOfAGradientThatIsRefused) {
  Job job("async", {.workers = 1, .batch = 4, .examples = 64});
  job.push(job.answer(0), update::Judgement::kNotFinite, Time{std::chrono::milliseconds(30)});
  ASSERT_EQ(job.ended().size(), 1U);
  EXPECT_EQ(job.ended()[0].runtime, std::chrono::milliseconds(30));
  EXPECT_EQ(job.coordinator().statistics().workers[0].runtimes, (std::vector<float>{0.03F}));
}

TEST(CoordinatorActions, AcceptStepAndReleaseInThisOrder) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 64, .rate = 0.5});
  const Effects effects = job.push(0);
  ASSERT_EQ(effects.size(), 4U);
  EXPECT_EQ(std::get<Accept>(effects[0]).examples, 4U);
  EXPECT_EQ(std::get<protocol::Verdict>(std::get<Send>(effects[1]).message).outcome,
            protocol::Outcome::kAccepted);
  EXPECT_EQ(std::get<StepWeights>(effects[2]).rate, 0.5);
  const auto& release = std::get<protocol::Release>(std::get<Send>(effects[3]).message);
  EXPECT_EQ(release.version, Version{1});
  EXPECT_EQ(total_size(release.ranges), 4U);
}

TEST(CoordinatorActions, WeighByTheStalenessRule) {
  Job job("async",
          {.workers = 2,
           .batch = 4,
           .examples = 64,
           .staleness = update::StalenessRule::parse(Spec::parse("inverse"))});
  EXPECT_EQ(all<Accept>(job.push(0))[0].weight, 1.0);
  EXPECT_EQ(all<Accept>(job.push(0))[0].weight, 1.0);
  EXPECT_EQ(all<Accept>(job.push(1))[0].weight, 0.5);  // Two updates since its weights.
}

// A job under `policy` whose rules are the policy's own, or `given`.
CoordinatorOptions ruled(const std::string& policy, const std::string& given = "") {
  CoordinatorOptions options{
      .workers = 2, .batch = 4, .examples = 64, .policy = Spec::parse(policy)};
  if (!given.empty()) {
    options.staleness = update::StalenessRule::parse(Spec::parse(given));
  }
  return options;
}

TEST(CoordinatorActions, WeighByTheRuleOfThePolicyInForce) {
  Job job("sync", ruled("sync"));
  EXPECT_EQ(all<Accept>(job.push(0))[0].weight, 1.0);
  const Effects last = job.push(1);
  EXPECT_EQ(all<Accept>(last)[0].weight, 1.0);
  EXPECT_EQ(all<StepWeights>(last)[0].share, 1.0);
  (void)job.set_policy("async");
  (void)job.push(0);  // The seam waits for both: what they compute is sync's.
  const Effects seam = job.push(1);
  EXPECT_EQ(all<Accept>(seam)[0].weight, 1.0);
  ASSERT_EQ(all<Switched>(seam).size(), 1U);
  EXPECT_EQ(all<Switched>(seam)[0].staleness, "share");
  EXPECT_TRUE(all<Warn>(seam).empty());
  const Effects after = job.push(0);
  EXPECT_EQ(all<Accept>(after)[0].weight, 0.5);  // Two updates go as far as one of both.
  EXPECT_EQ(all<StepWeights>(after)[0].share, 0.5);
  (void)job.set_policy("sync");
  (void)job.push(1);
  (void)job.push(0);
  EXPECT_EQ(job.coordinator().staleness().name(), "none");
}

TEST(CoordinatorActions, WeighEachPhaseOfASwitchByItsOwnRule) {
  const std::string policy = "switch(sync until updates>0 then async)";
  Job job(policy, ruled(policy));
  EXPECT_EQ(job.coordinator().staleness().name(), "none");
  (void)job.push(0);
  EXPECT_EQ(all<Switched>(job.push(1)).at(0).staleness, "share");
  EXPECT_EQ(all<Accept>(job.push(0))[0].weight, 0.5);
}

TEST(CoordinatorActions, KeepARuleThatWasGivenAndWarnWhereItDoesNotFit) {
  Job job("sync", ruled("sync", "none"));
  (void)job.set_policy("async");
  (void)job.push(0);
  const Effects seam = job.push(1);
  EXPECT_EQ(all<Switched>(seam).at(0).staleness, "none");
  ASSERT_EQ(all<Warn>(seam).size(), 1U);
  EXPECT_EQ(all<Warn>(seam)[0].text,
            "--staleness none, as given, stays in force under async: each gradient counts in full, "
            "so the weights move several times as far; without it the rule would be share");
  EXPECT_EQ(all<Accept>(job.push(0))[0].weight, 1.0);
}

TEST(CoordinatorActions, TakeThePolicyInForceForTheUnitOfTheRate) {
  CoordinatorOptions options = ruled("sync");
  options.rate = 0.5;
  options.rate_scale = update::RateScale::kLinear;
  Job job("sync", options);
  (void)job.set_policy("async");
  (void)job.push(0);
  (void)job.push(1);
  // An update of one gradient is async's whole one: the rule alone makes it a share of a round.
  EXPECT_EQ(all<StepWeights>(job.push(0))[0].rate, 0.5);
}

TEST(CoordinatorActions, AnswerARepeatedPushWithItsFirstVerdict) {
  Job job("async", {.workers = 1, .batch = 4, .examples = 64});
  const protocol::Push push = job.answer(0);
  (void)job.push(push);
  const Effects again = job.push(push);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(std::get<protocol::Verdict>(std::get<Send>(again[0]).message).sequence,
            push.id.sequence);
  EXPECT_EQ(std::get<Forget>(again[1]).worker, WorkerId{0});
  EXPECT_EQ(job.coordinator().version(), Version{1});
}

TEST(CoordinatorActions, LeaseWhatAPartLeftOutAgain) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 64});
  protocol::Push part = job.answer(0);
  const protocol::Range whole = job.open(0)->ranges.at(0);
  part.examples = 1;
  part.partial = true;
  (void)job.push(part);
  (void)job.push(1);  // Another worker gets first what one gave back.
  const protocol::Range next = job.open(1)->ranges.at(0);
  EXPECT_EQ(next.begin, whole.begin + 1);
  EXPECT_EQ(next.end, whole.end);
}

TEST(CoordinatorActions, RefuseMoreExamplesThanWereLeased) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 64});
  protocol::Push push = job.answer(0);
  push.examples = 5;
  const Effects effects = job.push(push);
  EXPECT_EQ(all<Disconnect>(effects).size(), 1U);
  EXPECT_EQ(job.coordinator().live(), 1U);
  EXPECT_EQ(job.coordinator().version(), Version{0});
}

TEST(CoordinatorActions, ParkWhoFindsNoDataUntilSomeComesBack) {
  // Two mini-batches are all there is: the third worker waits for one to be given back.
  Job job("async", {.workers = 3, .batch = 4, .examples = 8, .limits = {.epochs = 1}});
  ASSERT_TRUE(job.open(0) && job.open(1));
  EXPECT_FALSE(job.open(2).has_value());
  EXPECT_EQ(job.coordinator().live(), 3U);
  const protocol::Ranges lost = job.open(0)->ranges;
  (void)job.die(0);
  ASSERT_TRUE(job.open(2).has_value());
  EXPECT_EQ(job.open(2)->ranges, lost);
  (void)job.push(1);
  const Effects last = job.push(2);
  EXPECT_EQ(all<Finish>(last).at(0).why, "epochs done");
  EXPECT_EQ(job.coordinator().statistics().examples_used_per_epoch_max, 1U);
}

TEST(CoordinatorActions, TellPeopleOnceThatAWorkerIsStarved) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 64});
  std::size_t warnings = 0;
  for (int i = 0; i < 30; ++i) {
    const Effects effects = job.push(job.answer(0), update::Judgement::kNotFinite);
    warnings += all<Warn>(effects).size();
    EXPECT_EQ(warnings, i >= 19 ? 1U : 0U);
  }
  EXPECT_EQ(job.coordinator().statistics().workers[0].starved, 30U);
}

// If there are a thousand workers, each of them may be starved in turn, again and again.
TEST(CoordinatorActions, TellPeopleOfAFewStarvedWorkers) {
  Job job("async", {.workers = 9, .batch = 4, .examples = 6400});
  std::vector<std::string> said;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t worker = 0; worker < 8; ++worker) {
      for (int i = 0; i < 20; ++i) {
        for (const Warn& warn :
             all<Warn>(job.push(job.answer(worker), update::Judgement::kNotFinite))) {
          said.push_back(warn.text);
        }
      }
      (void)job.push(worker);
    }
  }
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said[0], "worker 0 is starved: nothing of its last 20 mini-batches was used");
  EXPECT_NE(said[3].find("further starved workers are not reported"), std::string::npos) << said[3];
}

TEST(CoordinatorActions, SayFromWhichVersionOnAnotherPolicyDecides) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 64});
  EXPECT_TRUE(all<Switched>(job.set_policy("sync")).empty()) << "two compute";
  EXPECT_TRUE(all<Switched>(job.push(0)).empty());
  const Effects effects = job.push(1);
  ASSERT_EQ(all<Switched>(effects).size(), 1U);
  EXPECT_EQ(all<Switched>(effects)[0].version, Version{2});
  EXPECT_EQ(job.open(0)->version, Version{2});
  EXPECT_EQ(job.open(1)->version, Version{2});
  job.push(0);
  EXPECT_EQ(job.coordinator().version(), Version{2}) << "sync waits for the other";
}

TEST(CoordinatorActions, TellTheTrainingLossToWhoWaitsForIt) {
  Job job("switch(async until loss<0.5 then sync)", {.workers = 1, .batch = 4, .examples = 64});
  protocol::Push push = job.answer(0);
  push.loss = 0.75;
  job.push(push);
  ASSERT_EQ(job.measured().size(), 1U);
  EXPECT_EQ(job.measured()[0].what, policy::Measure::kTrainingLoss);
  EXPECT_EQ(job.measured()[0].value, 0.75);
  EXPECT_EQ(job.measured()[0].version, Version{1});
  Job other("async", {.workers = 1, .batch = 4, .examples = 64});
  other.push(0);
  EXPECT_TRUE(other.measured().empty());
}

TEST(CoordinatorActions, TellOfTheOptimizerThatWorkersBroughtBeforeAnybodyAnswers) {
  for (const bool invariant : {false, true}) {
    const Job job("async",
                  {.workers = 2, .batch = 4, .examples = 64, .scale_invariant = invariant});
    ASSERT_EQ(job.measured().size(), 1U);
    EXPECT_EQ(job.measured()[0].what, policy::Measure::kScaleInvariant);
    EXPECT_EQ(job.measured()[0].value, invariant ? 1.0 : 0.0);
  }
  const Job job("async", {.workers = 2, .batch = 4, .examples = 64});
  EXPECT_TRUE(job.measured().empty()) << "the policy was made for the server's";
}

TEST(CoordinatorActions, TurnAwayWhatIsFilteredAndSayWhy) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 64});
  const Effects effects = job.push(job.answer(0), update::Judgement::kTooSteep);
  EXPECT_TRUE(all<Accept>(effects).empty());
  const auto verdict = std::get<protocol::Verdict>(all<Send>(effects).at(0).message);
  EXPECT_EQ(verdict.outcome, protocol::Outcome::kDropped);
  EXPECT_EQ(verdict.why, "filtered: too steep");
  EXPECT_EQ(job.coordinator().version(), Version{0});
  EXPECT_TRUE(job.open(0).has_value()) << "it goes on";
  (void)job.push(job.answer(0), update::Judgement::kTooOften);
  const Statistics& counted = job.coordinator().statistics();
  EXPECT_EQ(counted.gradients_filtered, 2U);
  EXPECT_EQ(counted.workers[0].filtered, 2U);
  EXPECT_EQ(counted.workers[0].too_often, 1U);
  EXPECT_EQ(counted.workers[0].iterations(), 2U);
  EXPECT_EQ(counted.examples_applied, 0U);
}

// However fast they are, who are turned away alone are fewer than those who will yet come.
TEST(CoordinatorActions, GiveUpOnlyIfHalfOfTheWorkersAreTurnedAway) {
  const CoordinatorOptions options{.workers = 4, .batch = 4, .examples = 64};
  for (const update::Judgement judgement :
       {update::Judgement::kNotFinite, update::Judgement::kTooSteep}) {
    Job job("async", options);
    for (int i = 0; i < 500; ++i) {
      EXPECT_TRUE(all<Finish>(job.push(job.answer(0), judgement)).empty());
    }
    const std::vector<Finish> ends = all<Finish>(job.push(job.answer(1), judgement));
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].code, ExitCode::kFailure);
    const bool filtered = update::is_filtered(judgement);
    EXPECT_NE(ends[0].why.find(filtered ? "501 gradients in a row were filtered"
                                        : "501 gradients in a row were not finite"),
              std::string::npos)
        << ends[0].why;
  }
}

// Half of the workers pause. Two of the others are wrong; two have to wait for those that pause.
TEST(CoordinatorActions, DoNotGiveUpBecauseSomeWorkersComeTooOften) {
  Job job("async", {.workers = 8, .batch = 4, .examples = 64});
  for (int i = 0; i < 200; ++i) {
    for (const std::uint32_t worker : {0U, 1U}) {
      EXPECT_TRUE(all<Finish>(job.push(job.answer(worker), update::Judgement::kTooSteep)).empty());
      EXPECT_TRUE(
          all<Finish>(job.push(job.answer(worker + 2), update::Judgement::kTooOften)).empty());
    }
  }
  (void)job.push(4);
  EXPECT_EQ(job.coordinator().version(), Version{1});
}

// The last examples of a run are with a worker whose gradients are always turned away.
TEST(CoordinatorActions, LeaveTheExamplesOfWhoIsTurnedAwayToOthers) {
  Job job("async", {.workers = 4, .batch = 4, .examples = 16, .limits = {.epochs = 1}});
  (void)job.push(2);
  (void)job.push(3);
  const protocol::Ranges ranges = job.open(0)->ranges;
  const Sequence release = job.open(0)->sequence;
  (void)job.push(job.answer(0), update::Judgement::kTooSteep);
  EXPECT_EQ(job.open(0)->sequence, release) << "it finds nothing that is not its own";
  ASSERT_EQ(job.open(2)->ranges, ranges) << "the first of those that have been used";
  // Turned away as well: who has been used goes first.
  (void)job.push(job.answer(2), update::Judgement::kTooSteep);
  ASSERT_EQ(job.open(3)->ranges, ranges);
  (void)job.push(3);
  const Effects last = job.push(1);
  EXPECT_EQ(all<Finish>(last).at(0).why, "epochs done");
}

// `backup:cutoff=2` makes an update of the first two of three gradients, and none of the third.
TEST(CoordinatorActions, MakeTheLastGradientThatIsAllowedAnUpdateIfOneIsDue) {
  const CoordinatorOptions options{
      .workers = 2, .batch = 4, .examples = 64, .limits = {.iterations = 3}};
  Job async("async", options);
  (void)async.push(0);
  (void)async.push(1);
  EXPECT_EQ(all<Finish>(async.push(0)).at(0).why, "iterations done");
  EXPECT_EQ(async.coordinator().statistics().updates, 3U);
  Job backup("backup:cutoff=2", options);
  (void)backup.push(0);
  (void)backup.push(1);
  EXPECT_EQ(all<Finish>(backup.push(0)).at(0).why, "iterations done");
  EXPECT_EQ(backup.coordinator().statistics().updates, 1U);
}

TEST(CoordinatorActions, LetALoneWorkerTakeItsOwnExamplesAgain) {
  Job job("async", {.workers = 1, .batch = 4, .examples = 4, .limits = {.epochs = 1}});
  (void)job.push(job.answer(0), update::Judgement::kNotFinite);
  EXPECT_EQ(all<Finish>(job.push(0)).at(0).why, "epochs done");
}

// One bad example: its mini-batch goes round, until three workers have failed at it.
TEST(CoordinatorActions, LeaveOutExamplesThatThreeWorkersFailedAt) {
  Job job("async", {.workers = 3, .batch = 4, .examples = 16, .limits = {.epochs = 1}});
  const auto is_bad = [&](std::uint32_t worker) {
    return job.open(worker)->ranges.front().begin == 0;  // Position 0 is the bad example.
  };
  std::vector<LeaveOut> left_out;
  std::vector<Finish> ends;
  for (std::uint32_t turn = 0; turn < 20 && ends.empty(); ++turn) {
    const std::uint32_t worker = turn % 3;
    const Effects effects =
        job.push(job.answer(worker),
                 is_bad(worker) ? update::Judgement::kNotFinite : update::Judgement::kSound);
    const std::vector<LeaveOut> now = all<LeaveOut>(effects);
    left_out.insert(left_out.end(), now.begin(), now.end());
    ends = all<Finish>(effects);
  }
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].ranges, (protocol::Ranges{{0, 0, 4}}));
  EXPECT_NE(left_out[0].why, "");
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].why, "epochs done");
  const Statistics& counted = job.coordinator().statistics();
  EXPECT_EQ(counted.gradients_refused, 4U) << "one of them tried twice";
  EXPECT_EQ(counted.examples_applied, 12U);
  EXPECT_EQ(counted.examples_left_out, 4U);
}

// A worker that skips all it gets ends the run, and does not go round for ever.
TEST(CoordinatorActions, LeaveOutWhatALoneWorkerSkipsThreeTimes) {
  Job job("async", {.workers = 1, .batch = 4, .examples = 8, .limits = {.epochs = 1}});
  std::vector<Finish> ends;
  int skips = 0;
  for (; skips < 20 && ends.empty(); ++skips) {
    ends = all<Finish>(job.give_up(0, protocol::GivenUp::kFailed));
  }
  EXPECT_EQ(skips, 6);
  EXPECT_EQ(ends.at(0).why, "epochs done");
  EXPECT_EQ(job.coordinator().statistics().examples_left_out, 8U);
}

TEST(CoordinatorActions, LeaveOutAtOnceWhatAScriptDoesNotWant) {
  Job job("async", {.workers = 1, .batch = 4, .examples = 6, .limits = {.epochs = 1}});
  (void)job.push(0);
  const Effects effects = job.give_up(0, protocol::GivenUp::kLeaveOut);
  EXPECT_EQ(all<LeaveOut>(effects).at(0).why, "") << "no fault of theirs";
  EXPECT_EQ(all<Finish>(effects).at(0).why, "epochs done");
}

// Nobody's examples are at fault if no gradient at all is finite.
TEST(CoordinatorActions, LeaveOutLittleWhenTrainingDiverges) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 4000, .limits = {.epochs = 3}});
  std::vector<Finish> ends;
  for (std::uint32_t turn = 0; turn < 2000 && ends.empty(); ++turn) {
    ends = all<Finish>(job.push(job.answer(turn % 2), update::Judgement::kNotFinite));
  }
  EXPECT_NE(ends.at(0).why.find("training has diverged"), std::string::npos);
  EXPECT_LE(job.coordinator().statistics().examples_left_out, 8U * 4U);
}

// Batch normalisation refuses a single example.
TEST(CoordinatorActions, LeaseTheRunsLastExampleWithOthers) {
  Job job("async", {.workers = 1, .batch = 4, .examples = 9, .limits = {.epochs = 1}});
  (void)job.push(0);
  EXPECT_EQ(total_size(job.open(0)->ranges), 5U);
  EXPECT_EQ(all<Finish>(job.push(0)).at(0).why, "epochs done");
}

}  // namespace
}  // namespace outpace::server
