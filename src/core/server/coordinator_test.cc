#include "server/coordinator.h"

#include <cmath>

#include <gtest/gtest.h>

#include "policy/catalogue.h"

namespace outpace::server {
namespace {

TEST(Coordinator, TakesANewProcessAfterTheDeathOfANewerIncarnation) {
  Coordinator coordinator(
      {.workers = 1, .examples = 8}, policy::make_policy(Spec::parse("async"), 1), nullptr, Time{});
  Effects effects;
  ASSERT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 2}, effects));
  coordinator.leave(Time{}, WorkerId{0}, 2, policy::Departure::kDead, effects);
  effects.clear();
  EXPECT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 1}, effects));
  EXPECT_EQ(coordinator.live(), 1U);
  EXPECT_TRUE(std::holds_alternative<protocol::Release>(std::get<Send>(effects.back()).message));
}

TEST(Coordinator, LeasesAPhaseOfLocalStepsAndTellsTheirRate) {
  Coordinator coordinator(
      {.workers = 1,
       .batch = 4,
       .local_steps =
           LocalSteps{.most = 3,
                      .optimizer = "sgd",
                      .rate = 0.5,
                      .schedule = update::Schedule::parse(Spec::parse("step:every=10,factor=0.1"))},
       .examples = 100},
      policy::make_policy(Spec::parse("sync"), 1),
      nullptr,
      Time{});
  Effects effects;
  ASSERT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}}, effects));
  const auto released = [&] {
    return std::get<protocol::Release>(std::get<Send>(effects.back()).message);
  };
  EXPECT_EQ(total_size(released().ranges), 12U);
  EXPECT_EQ(released().nominal, 4U);  // A step's.
  EXPECT_EQ(released().inner_rate, 0.5);
  const Sequence sequence = released().sequence;
  effects.clear();
  coordinator.push(Time{},
                   {.id = {.job = 1,
                           .generation = 1,
                           .worker = WorkerId{0},
                           .incarnation = 1,
                           .sequence = sequence},
                    .examples = 12,
                    .partial = false,
                    .loss = 0.0,
                    .compute_seconds = 0.0},
                   update::Judgement::kSound,
                   effects);
  EXPECT_EQ(coordinator.statistics().examples_applied, 12U);
  EXPECT_DOUBLE_EQ(released().inner_rate, 0.05);
}

TEST(Coordinator, FencesAnOlderIncarnation) {
  Coordinator coordinator(
      {.workers = 1, .examples = 8}, policy::make_policy(Spec::parse("async"), 1), nullptr, Time{});
  Effects effects;
  EXPECT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 2}, effects));
  effects.clear();
  EXPECT_FALSE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 1}, effects));
  EXPECT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 3}, effects));
  EXPECT_EQ(coordinator.live(), 1U);
  // What the older one pushes changes nothing.
  effects.clear();
  coordinator.push(Time{},
                   {.id = {.job = 1,
                           .generation = 1,
                           .worker = WorkerId{0},
                           .incarnation = 2,
                           .sequence = Sequence{1}},
                    .examples = 1,
                    .partial = false,
                    .loss = 0.0,
                    .compute_seconds = 0.0},
                   update::Judgement::kSound,
                   effects);
  EXPECT_EQ(coordinator.version(), Version{0});
}

// As in gradient_noise_test.cc: V = 9 of gradients of 32 examples each, and 6 of the loss's own.
TEST(Coordinator, KeepsTheNoiseScaleOfMeasuredNorms) {
  Coordinator coordinator({.workers = 3, .batch = 32, .examples = 64},
                          policy::make_policy(Spec::parse("dynamic:objective=progress"), 3),
                          nullptr,
                          Time{});
  Effects effects;
  EXPECT_EQ(coordinator.statistics().gradient_noise_scale, std::nullopt);
  coordinator.measured_norms(
      Time{}, Version{1}, {.mean = 3.0, .single = std::sqrt(15.0), .gradients = 3}, effects);
  ASSERT_TRUE(coordinator.statistics().gradient_noise_scale.has_value());
  EXPECT_NEAR(*coordinator.statistics().gradient_noise_scale, 32.0 * 9.0 / 6.0, 1e-9);
}

TEST(Coordinator, DeclaresASilentWorkerDeadAndGoesOnWithoutIt) {
  Coordinator coordinator({.workers = 2, .examples = 64, .heartbeat_timeout = from_seconds(5)},
                          policy::make_policy(Spec::parse("sync"), 2),
                          nullptr,
                          Time{});
  Effects effects;
  ASSERT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 1}, effects));
  ASSERT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{1}, .incarnation = 1}, effects));
  EXPECT_EQ(coordinator.next_deadline(), Time{from_seconds(5)});
  coordinator.heard(Time{from_seconds(4)}, WorkerId{0}, 1);
  coordinator.tick(Time{from_seconds(5)}, effects);
  EXPECT_EQ(coordinator.live(), 1U);
  EXPECT_TRUE(coordinator.statistics().workers[0].live);
  EXPECT_FALSE(coordinator.statistics().workers[1].live);
}

TEST(Coordinator, HasWhatIsKeptOfAWorkerForgottenBeforeANewerOneIsReleased) {
  Coordinator coordinator(
      {.workers = 1, .examples = 8}, policy::make_policy(Spec::parse("async"), 1), nullptr, Time{});
  Effects effects;
  ASSERT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 1}, effects));
  effects.clear();
  ASSERT_TRUE(coordinator.join(Time{}, {.worker = WorkerId{0}, .incarnation = 2}, effects));
  ASSERT_GE(effects.size(), 2U);
  EXPECT_EQ(std::get<ForgetWorker>(effects.front()).worker, WorkerId{0});
  EXPECT_TRUE(std::holds_alternative<protocol::Release>(std::get<Send>(effects.back()).message));
}

TEST(Coordinator, FailsWithTooFewWorkersAfterItsPatience) {
  Coordinator coordinator({.workers = 2, .examples = 64, .patience = from_seconds(10)},
                          policy::make_policy(Spec::parse("sync"), 2),
                          nullptr,
                          Time{});
  Effects effects;
  coordinator.tick(Time{from_seconds(9)}, effects);
  EXPECT_TRUE(effects.empty());
  coordinator.tick(Time{from_seconds(10)}, effects);
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(std::get<Finish>(effects[0]).code, ExitCode::kTooFewWorkers);
}

}  // namespace
}  // namespace outpace::server
