#include "server/shard.h"

#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::server {
namespace {

constexpr WorkerId kHolder{1};
constexpr WorkerId kRival{2};

ShardOptions with(const std::string& staleness) {
  return {.optimizer = Spec::parse("sgd"),
          .staleness = update::StalenessRule::parse(Spec::parse(staleness))};
}

void take(Shard& shard, WorkerId worker, std::vector<float> gradient, std::uint32_t examples = 1) {
  ASSERT_TRUE(shard.hold(worker, std::move(gradient)));
  shard.accept({.worker = worker, .sequence = Sequence{1}, .weight = 1.0, .examples = examples});
}

TEST(Shard, StepsAlongTheMeanWeightedByExamples) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {1.0F, 2.0F});
  ASSERT_TRUE(shard.hold(kHolder, {1.0F, 0.0F}));
  ASSERT_TRUE(shard.hold(kRival, {0.0F, 4.0F}));
  shard.accept({.worker = kHolder, .sequence = Sequence{1}, .weight = 1.0, .examples = 24});
  shard.accept({.worker = kRival, .sequence = Sequence{2}, .weight = 1.0, .examples = 8});
  shard.step({.rate = 1.0});
  EXPECT_FLOAT_EQ(shard.weights()[0], 1.0F - 0.75F);
  EXPECT_FLOAT_EQ(shard.weights()[1], 2.0F - 1.0F);
}

// Number 0 is learnt, number 1 a buffer.
ShardOptions with_buffer(const std::string& staleness = "none") {
  ShardOptions options = with(staleness);
  options.groups = update::Groups{
      .groups = {{.optimizer = Spec::parse("sgd"), .rate = 1.0, .weight_decay = 0.0},
                 {.optimizer = Spec::parse("average:mu=0.5"), .rate = 1.0, .weight_decay = 0.0}},
      .group_of = {0, 1}};
  return options;
}

TEST(Shard, KeepsTheMeanOfBuffersByExamplesWhateverTheGradientsWeigh) {
  Shard shard(with_buffer(), {0.0F, 8.0F}, {1, 1});
  ASSERT_TRUE(shard.hold(kHolder, {1.0F, 4.0F}));
  ASSERT_TRUE(shard.hold(kRival, {1.0F, 12.0F}));
  shard.accept({.worker = kHolder, .sequence = Sequence{1}, .weight = 0.5, .examples = 24});
  shard.accept({.worker = kRival, .sequence = Sequence{2}, .weight = 0.5, .examples = 8});
  shard.step({.rate = 1.0, .norms_for = Version{1}});
  EXPECT_EQ(shard.weights()[0], -0.5F);
  EXPECT_EQ(shard.weights()[1], 7.0F) << "half of 8, and half of the mean 6";
  EXPECT_EQ(shard.norms().single, 1.0) << "a buffer is no gradient";
  EXPECT_FALSE(shard.hold(kHolder, {1.0F, NAN}));
}

TEST(Shard, RefusesBuffersWithWhatChangesGradients) {
  const auto refusal = [](const ShardOptions& options) {
    try {
      check(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string rest = " conflicts with the network's buffers, which are averaged; remove ";
  const std::string end = ", or let each worker keep its own buffers";
  EXPECT_EQ(refusal(with_buffer()), "");
  ShardOptions clips = with_buffer();
  clips.clip_norm = 1.0;
  EXPECT_EQ(refusal(clips), "--clip-norm" + rest + "--clip-norm" + end);
  ShardOptions filters = with_buffer();
  filters.filter = update::FilterRule::parse(Spec::parse("median"));
  EXPECT_EQ(refusal(filters), "--filter median" + rest + "--filter median" + end);
  const ShardOptions corrects = with_buffer("dcasgd");
  EXPECT_TRUE(refusal(corrects).starts_with("--staleness dcasgd")) << refusal(corrects);
}

TEST(Shard, HoldsNothingOfAGradientThatIsNotFinite) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {1.0F, 2.0F});
  EXPECT_FALSE(shard.hold(kHolder, {1.0F, NAN}));
  EXPECT_FALSE(shard.hold(kHolder, {INFINITY, 0.0F}));
  EXPECT_EQ(shard.weights()[0], 1.0F);
}

TEST(Shard, ForgetsWhatItIsToldToForget) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {1.0F});
  ASSERT_TRUE(shard.hold(kHolder, {5.0F}));
  shard.forget(kHolder);
  ASSERT_TRUE(shard.hold(kRival, {1.0F}));
  shard.accept({.worker = kRival, .sequence = Sequence{2}, .weight = 1.0, .examples = 1});
  shard.step({.rate = 1.0});
  EXPECT_FLOAT_EQ(shard.weights()[0], 0.0F);
}

TEST(Shard, ClipsEachGradientBeforeItIsWeighted) {
  Shard shard({.optimizer = Spec::parse("sgd"), .clip_norm = 1.0}, {0.0F, 0.0F});
  ASSERT_TRUE(shard.hold(kHolder, {3.0F, 4.0F}));
  shard.accept({.worker = kHolder, .sequence = Sequence{1}, .weight = 0.5, .examples = 2});
  shard.step({.rate = 1.0});
  EXPECT_FLOAT_EQ(shard.weights()[0], -0.3F);
  EXPECT_FLOAT_EQ(shard.weights()[1], -0.4F);
  EXPECT_EQ(shard.clipped(), 1U);
}

TEST(Shard, PutsTheNextVersionWhereNobodyReads) {
  Shard shard(with("none"), {1.0F});
  const float* const first = shard.weights().data();
  take(shard, kHolder, {1.0F});
  shard.step({.rate = 1.0});
  const float* const second = shard.weights().data();
  EXPECT_NE(second, first);
  const update::SharedWeights read = shard.snapshot();
  EXPECT_EQ(read->data(), second) << "a version is not copied";
  take(shard, kHolder, {1.0F});
  shard.step({.rate = 1.0});
  EXPECT_EQ(shard.weights().data(), first) << "whose version nobody reads any more";
  take(shard, kHolder, {1.0F});
  shard.step({.rate = 1.0});
  EXPECT_NE(shard.weights().data(), second);
  EXPECT_EQ(*read, std::vector<float>{0.0F});
  EXPECT_EQ(shard.weights()[0], -2.0F);
}

TEST(Shard, HandsOutOneCopyOfAVersion) {
  Shard shard(with("none"), {1.0F});
  const update::SharedWeights before = shard.snapshot();
  EXPECT_EQ(shard.release(kHolder), before);
  EXPECT_EQ(shard.release(kRival), before);
  take(shard, kHolder, {1.0F});
  shard.step({.rate = 1.0});
  EXPECT_EQ(*before, (std::vector<float>{1.0F}));
  EXPECT_EQ(*shard.release(kHolder), (std::vector<float>{0.0F}));
  // Without a correction nothing is kept once nobody else has it.
  const std::weak_ptr<const std::vector<float>> watched = shard.snapshot();
  take(shard, kHolder, {1.0F});
  shard.step({.rate = 1.0});
  EXPECT_TRUE(watched.expired());
}

TEST(Shard, CompensatesEachGradientBeforeTheMean) {
  Shard shard(with("dcasgd:lambda=1"), {0.0F});
  (void)shard.release(kHolder);
  (void)shard.release(kRival);
  take(shard, kRival, {-1.0F});
  shard.step({.rate = 1.0});  // w = 1
  (void)shard.release(kRival);
  take(shard, kRival, {2.0F});   // Computed on the present weights.
  take(shard, kHolder, {2.0F});  // 2 + 4 * (1 - 0) = 6
  shard.step({.rate = 1.0});
  EXPECT_EQ(shard.weights()[0], 1.0F - 4.0F);
}

// What came again, from before, is forgotten while the worker computes: its release stays.
TEST(Shard, RemembersTheReleaseWhenAGradientIsForgotten) {
  Shard shard(with("dcasgd:lambda=1"), {0.0F});
  (void)shard.release(kHolder);
  (void)shard.release(kRival);
  take(shard, kRival, {-1.0F});
  shard.step({.rate = 1.0});
  ASSERT_TRUE(shard.hold(kHolder, {7.0F}));
  shard.forget(kHolder);
  take(shard, kHolder, {2.0F});
  shard.step({.rate = 1.0});
  EXPECT_EQ(shard.weights()[0], 1.0F - 6.0F);
}

TEST(Shard, FreesWhatIsKeptOfAWorkerThatIsGone) {
  Shard shard(with("gap"), {0.0F});
  const std::weak_ptr<const std::vector<float>> watched = shard.release(kHolder);
  (void)shard.release(kRival);
  take(shard, kRival, {1.0F});
  shard.step({.rate = 1.0});
  (void)shard.release(kRival);
  EXPECT_FALSE(watched.expired());
  shard.forget_worker(kHolder);
  EXPECT_TRUE(watched.expired());
}

TEST(Shard, ClipsBeforeItCompensates) {
  ShardOptions options = with("dcasgd:lambda=1");
  options.clip_norm = 1.0;
  Shard shard(options, {0.0F});
  (void)shard.release(kHolder);
  (void)shard.release(kRival);
  take(shard, kRival, {-1.0F});
  shard.step({.rate = 1.0});
  take(shard, kHolder, {100.0F});  // 1 + 1 * 1 * 1
  shard.step({.rate = 1.0});
  EXPECT_EQ(shard.weights()[0], 1.0F - 2.0F);
}

// Jiang et al. 2017: a clock counts as one gradient, their mean, however its gradients fall into
// updates; together, it is synchronous SGD.
TEST(Shard, MovesByTheMeanOfAClockUnderDynsgd) {
  for (const bool together : {true, false}) {
    ShardOptions options = with("dynsgd");
    options.weight_decay = 0.5;
    Shard shard(options, {8.0F});
    (void)shard.release(kHolder);
    (void)shard.release(kRival);
    take(shard, kHolder, {1.0F}, 24);
    if (!together) {
      shard.step({.rate = 1.0});
      EXPECT_EQ(shard.weights()[0], 8.0F - 1.0F - 4.0F);
    }
    take(shard, kRival, {5.0F}, 8);
    shard.step({.rate = 1.0});
    EXPECT_EQ(shard.weights()[0], 8.0F - 2.0F - 4.0F) << together;
  }
}

TEST(Shard, RefusesAnOptimizerThatUndoesItsStalenessRule) {
  ShardOptions options = with("gap");
  options.optimizer = Spec::parse("adam");
  EXPECT_THROW(check(options), Error);
  EXPECT_THROW(Shard(options, {1.0F}), Error);
}

TEST(Shard, JudgesByTheWeightsThatWereReleased) {
  Shard shard({.optimizer = Spec::parse("sgd"),
               .filter = update::FilterRule::parse(Spec::parse("kardam:f=1"))},
              {0.0F});
  ASSERT_TRUE(shard.judges());
  constexpr std::uint32_t kComputing = 4;
  const auto sends = [&](std::uint32_t worker, float gradient) {
    EXPECT_TRUE(shard.hold(WorkerId{worker}, {gradient}));
    const update::Judgement found = shard.judge(WorkerId{worker}, kComputing);
    if (found == update::Judgement::kSound) {
      shard.accept(
          {.worker = WorkerId{worker}, .sequence = Sequence{1}, .weight = 1.0, .examples = 1});
      shard.step({.rate = 0.1});
    } else {
      shard.forget(WorkerId{worker});
    }
    return found;
  };
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    (void)shard.release(WorkerId{worker});
  }
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      const bool lies = worker == 3 && round > 0;
      const float gradient = shard.weights()[0] - 1.0F;  // Towards 1.
      const bool early = round == 0 && worker < 2;       // Three must have sent one.
      // Two know no coefficient before the last round: they had the same weights twice.
      const auto lie = round == 1 ? update::Judgement::kTooLong : update::Judgement::kTooSteep;
      const auto truth = early ? update::Judgement::kTooEarly : update::Judgement::kSound;
      EXPECT_EQ(sends(worker, lies ? -50.0F * gradient : gradient), lies ? lie : truth)
          << "round " << round << ", worker " << worker;
      (void)shard.release(WorkerId{worker});
    }
  }
  EXPECT_GT(shard.weights()[0], 0.5F);
  EXPECT_LT(shard.weights()[0], 1.0F);
}

TEST(Shard, StepsAlongWhatStandsForTheMean) {
  for (const char* reduce : {"order", "arrival"}) {
    Shard shard({.optimizer = Spec::parse("sgd"),
                 .reduce = std::string(reduce) == "order" ? update::Reduce::kWorkerOrder
                                                          : update::Reduce::kArrival,
                 .filter = update::FilterRule::parse(Spec::parse("median"))},
                {0.0F});
    EXPECT_FALSE(shard.judges());
    take(shard, WorkerId{0}, {1.0F}, 8);
    take(shard, WorkerId{1}, {1e30F}, 1000);  // One vote, whatever it says of its examples.
    take(shard, WorkerId{2}, {3.0F}, 8);
    shard.step({.rate = 1.0});
    EXPECT_EQ(shard.weights()[0], -3.0F) << reduce;
  }
}

// As with_buffer(), but number 1 is passed on.
TEST(Shard, PassesOnBuffersThatAreNotFinite) {
  ShardOptions options = with_buffer();
  options.groups->groups[1].optimizer = Spec::parse("newest");
  Shard shard(options, {0.0F, 0.0F}, {1, 1});
  for (const WorkerId worker : {kRival, kHolder}) {
    ASSERT_TRUE(shard.hold(worker, {1.0F, -INFINITY}, NAN)) << "the norm is of both numbers";
    shard.accept({.worker = worker, .sequence = Sequence{1}, .weight = 1.0, .examples = 8});
  }
  shard.step({.rate = 1.0, .norms_for = Version{1}});
  EXPECT_EQ(shard.weights()[0], -1.0F);
  EXPECT_EQ(shard.weights()[1], -INFINITY);
  EXPECT_EQ(shard.norms().single, 1.0);
  EXPECT_TRUE(shard.finite());
  EXPECT_FALSE(shard.hold(kHolder, {NAN, 0.0F}));
}

TEST(Shard, StepsOnlyTheTensorsThatAGradientHas) {
  ShardOptions options = with_buffer();
  options.groups->groups[1] = {.optimizer = Spec::parse("sgd"), .rate = 1.0, .weight_decay = 0.5};
  Shard shard(options, {0.0F, 8.0F}, {1, 1});
  EXPECT_EQ(shard.why_not_without(std::vector<std::uint32_t>{1}), "");
  EXPECT_NE(shard.why_not_without(std::vector<std::uint32_t>{2}), "");
  ASSERT_TRUE(shard.hold(kHolder, {1.0F, 3.0F}, std::nullopt, {1}));
  shard.accept({.worker = kHolder, .sequence = Sequence{1}, .weight = 1.0, .examples = 8});
  shard.step({.rate = 1.0});
  EXPECT_EQ(shard.weights()[0], -1.0F);
  EXPECT_EQ(shard.weights()[1], 8.0F);
  EXPECT_FALSE(shard.hold(kHolder, {NAN, 0.0F}, std::nullopt, {0})) << "so a loss is told";

  options.filter = update::FilterRule::parse(Spec::parse("median"));
  const Shard median(options, {0.0F, 8.0F}, {1, 1});
  EXPECT_NE(median.why_not_without(std::vector<std::uint32_t>{1}).find("--filter median"),
            std::string::npos);
  const Shard plain({.optimizer = Spec::parse("sgd")}, {0.0F, 8.0F}, {1, 1});
  EXPECT_NE(plain.why_not_without(std::vector<std::uint32_t>{1}), "");
}

// A machine's gradient in place of a step: a server that is handed it steps as if it had been
// handed its workers' gradients.
TEST(Shard, HandsInWhatAStepWouldTake) {
  ShardOptions options = with_buffer();
  options.groups->groups.push_back(
      {.optimizer = Spec::parse("newest"), .rate = 1.0, .weight_decay = 0.0});
  options.groups->group_of = {0, 1, 2, 0, 0};
  const std::vector<float> weights{0.0F, 8.0F, 0.0F, 1.0F, 1.0F};
  const std::vector<std::size_t> tensors{1, 1, 1, 1, 1};
  Shard machine(options, weights, tensors);
  Shard flat(options, weights, tensors);
  for (Shard* shard : {&machine, &flat}) {
    ASSERT_TRUE(shard->hold(kHolder, {1.0F, 3.0F, 10.0F, 4.0F, 9.0F}, std::nullopt, {4}));
    ASSERT_TRUE(shard->hold(kRival, {4.0F, 6.0F, 20.0F, 9.0F, 9.0F}, std::nullopt, {3, 4}));
    shard->accept({.worker = kHolder, .sequence = Sequence{1}, .weight = 1.0, .examples = 8});
    shard->accept({.worker = kRival, .sequence = Sequence{2}, .weight = 1.0, .examples = 4});
  }
  flat.step({.rate = 1.0});
  Shard::HandedIn handed = machine.hand_in();
  EXPECT_EQ(handed.gradient, (std::vector<float>{2.0F, 4.0F, 20.0F, 4.0F, 0.0F}));
  EXPECT_EQ(handed.without, std::vector<std::uint32_t>{4});

  Shard above(options, weights, tensors);
  ASSERT_TRUE(above.hold(kHolder, handed.gradient, std::nullopt, handed.without));
  above.accept({.worker = kHolder, .sequence = Sequence{1}, .weight = 1.0, .examples = 12});
  above.step({.rate = 1.0});
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_FLOAT_EQ(above.weights()[i], flat.weights()[i]) << i;
  }

  // The next one begins anew.
  ASSERT_TRUE(machine.hold(kHolder, {0.0F, 0.0F, 0.0F, 0.0F, 0.0F}));
  machine.accept({.worker = kHolder, .sequence = Sequence{3}, .weight = 1.0, .examples = 8});
  machine.discard();
  machine.discard();
  machine.replace({5.0F, 5.0F, 5.0F, 5.0F, 5.0F});
  EXPECT_EQ(machine.weights()[0], 5.0F);
  ASSERT_TRUE(machine.hold(kHolder, {7.0F, 7.0F, 7.0F, 7.0F, 7.0F}));
  machine.accept({.worker = kHolder, .sequence = Sequence{4}, .weight = 1.0, .examples = 8});
  EXPECT_EQ(machine.hand_in().gradient, std::vector<float>(5, 7.0F));
}

// (3, 4) and (0, 0): norms 5 and 0, and 2.5 of the mean.
TEST(Shard, MeasuresTheNormsOfAStepThatAsksForThem) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {0.0F, 0.0F});
  take(shard, kHolder, {30.0F, 40.0F});
  shard.step({.rate = 1.0});  // Leaves nothing behind.
  EXPECT_EQ(shard.norms().mean, 0.0);
  take(shard, kHolder, {3.0F, 4.0F});
  take(shard, kRival, {0.0F, 0.0F});
  shard.step({.rate = 1.0, .norms_for = Version{2}});
  EXPECT_DOUBLE_EQ(shard.norms().mean, 2.5);
  EXPECT_DOUBLE_EQ(shard.norms().single, std::sqrt(12.5));
  EXPECT_EQ(shard.norms().gradients, 2U);
}

TEST(Shard, MeasuresWhatIsLeftOfAClippedGradient) {
  Shard shard({.optimizer = Spec::parse("sgd"), .clip_norm = 1.0}, {0.0F, 0.0F});
  take(shard, kHolder, {3.0F, 4.0F});
  take(shard, kRival, {3.0F, 4.0F});
  shard.step({.rate = 1.0, .norms_for = Version{1}});
  EXPECT_NEAR(shard.norms().mean, 1.0, 1e-6);
  EXPECT_NEAR(shard.norms().single, 1.0, 1e-6);
}

TEST(Shard, MeasuresTheNormsOfLoneGradientsInGroups) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {0.0F, 0.0F});
  const auto step = [&](std::vector<float> gradient) {
    EXPECT_TRUE(shard.hold(kHolder, std::move(gradient)));
    shard.accept({.worker = kHolder, .sequence = Sequence{1}, .weight = 0.125, .examples = 1});
    shard.step({.rate = 1.0, .norms_for = Version{1}});
    return shard.norms();
  };
  // Four along each axis: their mean is (1.5, 2), and the mean of their squares (36 + 64) / 8 / 2.
  for (std::uint32_t i = 1; i < policy::kNormGroup; ++i) {
    EXPECT_EQ(step(i % 2 == 0 ? std::vector{3.0F, 0.0F} : std::vector{0.0F, 4.0F}).gradients, 0U);
  }
  const GradientNorms norms = step({3.0F, 0.0F});
  EXPECT_EQ(norms.gradients, policy::kNormGroup);
  EXPECT_NEAR(norms.mean, 2.5, 1e-6);
  EXPECT_NEAR(norms.single, std::sqrt(12.5), 1e-6);
  EXPECT_EQ(step({3.0F, 0.0F}).gradients, 0U);  // The group is measured once.
}

// A part of a gradient is noisier, and counts as much less: (2.4, 0.8), and (16 * 9 + 4 * 16) / 20.
TEST(Shard, MeasuresEachGradientByItsExamples) {
  Shard shard({.optimizer = Spec::parse("sgd")}, {0.0F, 0.0F});
  const auto take_both = [&](bool together) {
    for (const auto& [worker, gradient, examples] :
         {std::tuple{kHolder, std::vector{3.0F, 0.0F}, 4U},
          std::tuple{kRival, std::vector{0.0F, 4.0F}, 1U}}) {
      EXPECT_TRUE(shard.hold(worker, gradient));
      shard.accept(
          {.worker = worker, .sequence = Sequence{1}, .weight = 0.5, .examples = examples});
      if (!together) {
        shard.step({.rate = 1.0, .norms_for = Version{1}});
      }
    }
  };
  take_both(true);
  shard.step({.rate = 1.0, .norms_for = Version{1}});
  EXPECT_NEAR(shard.norms().mean, std::hypot(2.4, 0.8), 1e-6);
  EXPECT_NEAR(shard.norms().single, std::sqrt(10.4), 1e-6);
  for (std::uint32_t i = 0; i < policy::kNormGroup / 2; ++i) {
    take_both(false);
  }
  ASSERT_EQ(shard.norms().gradients, policy::kNormGroup);
  EXPECT_NEAR(shard.norms().mean, std::hypot(2.4, 0.8), 1e-6);
  EXPECT_NEAR(shard.norms().single, std::sqrt(10.4), 1e-6);
}

}  // namespace
}  // namespace outpace::server
