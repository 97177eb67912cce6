#include <algorithm>

#include <gtest/gtest.h>

#include "policy/catalogue.h"
#include "server/coordinator.h"

namespace outpace::server {
namespace {

// A coordinator with the workers' side of the conversation: who has which release open.
class Job {
 public:
  Job(const std::string& policy, CoordinatorOptions options)
      : options_(options),
        coordinator_(
            options, policy::make_policy(Spec::parse(policy), options.workers), nullptr, Time{}),
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
  Effects push(const protocol::Push& push, bool finite = true) {
    Effects effects;
    coordinator_.push(Time{}, push, finite, effects);
    note(effects);
    return effects;
  }
  Effects push(std::uint32_t worker) { return push(answer(worker)); }
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

TEST(CoordinatorActions, TakeUpStepAndReleaseInThisOrder) {
  Job job("async", {.workers = 2, .batch = 4, .examples = 64, .rate = 0.5});
  const Effects effects = job.push(0);
  ASSERT_EQ(effects.size(), 4U);
  EXPECT_EQ(std::get<TakeUp>(effects[0]).examples, 4U);
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
  EXPECT_EQ(all<TakeUp>(job.push(0))[0].weight, 1.0);
  EXPECT_EQ(all<TakeUp>(job.push(0))[0].weight, 1.0);
  EXPECT_EQ(all<TakeUp>(job.push(1))[0].weight, 0.5);  // Two updates since its weights.
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
    const Effects effects = job.push(job.answer(0), /*finite=*/false);
    warnings += all<Warn>(effects).size();
    EXPECT_EQ(warnings, i >= 19 ? 1U : 0U);
  }
  EXPECT_EQ(job.coordinator().statistics().workers[0].starved, 30U);
}

}  // namespace
}  // namespace outpace::server
