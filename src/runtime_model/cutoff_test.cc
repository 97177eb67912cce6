#include "runtime_model/cutoff.h"

#include <vector>

#include <gtest/gtest.h>

#include "runtime_model/draws.h"
#include "runtime_model/model_list.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

const std::vector<Cutoff::Participant> kFour{
    {.worker = 0}, {.worker = 1}, {.worker = 2}, {.worker = 3}};

// Three workers take one second and the fourth eight; all was seen for some iterations.
Cutoff learnt(Cutoff::Options options) {
  return Cutoff(make_model("switching", 4), options);
}
void teach(Cutoff& cutoff) {
  Rng rng(1, 0);
  for (int i = 0; i < 60; ++i) {
    cutoff.begin(kFour);
    cutoff.end(arrived(around({1.0, 1.0, 1.0, 8.0}, 0.05, rng)), 3, 1.1);
  }
  cutoff.begin(kFour);
}

TEST(Cutoff, WithoutAForecastAllAreWaitedFor) {
  Cutoff cutoff = learnt({});
  cutoff.begin(kFour);
  EXPECT_EQ(cutoff.forecast(), nullptr);
  EXPECT_FALSE(cutoff.look(1.0, 3, std::vector<std::uint32_t>{3}).stop);
  EXPECT_TRUE(cutoff.look(8.0, 4, {}).stop);
}

TEST(Cutoff, WithoutAModelTheLeastAreWaitedFor) {
  Cutoff cutoff(nullptr, {.decide = Decide::kBefore, .least = 2});
  cutoff.begin(kFour);
  EXPECT_FALSE(cutoff.look(1.0, 1, std::vector<std::uint32_t>{1, 2, 3}).stop);
  EXPECT_TRUE(cutoff.look(2.0, 2, std::vector<std::uint32_t>{2, 3}).stop);
}

TEST(Cutoff, EveryWayToDecideLeavesTheSlowWorkerOut) {
  for (const Decide decide : {Decide::kBefore, Decide::kDeadline, Decide::kDuring}) {
    Cutoff cutoff = learnt({.decide = decide});
    teach(cutoff);
    EXPECT_FALSE(cutoff.look(0.98, 1, std::vector<std::uint32_t>{1, 2, 3}).stop);
    EXPECT_TRUE(cutoff.look(1.3, 3, std::vector<std::uint32_t>{3}).stop);
    EXPECT_GE(cutoff.plan().count, 3U);
  }
}

TEST(Cutoff, ByCountAloneItWaitsThroughASurprise) {
  Cutoff before = learnt({.decide = Decide::kBefore});
  Cutoff during = learnt({.decide = Decide::kDuring});
  teach(before);
  teach(during);
  const std::vector<std::uint32_t> out{2, 3};  // The third should have come long ago.
  EXPECT_FALSE(before.look(2.0, 2, out).stop);
  EXPECT_TRUE(during.look(2.0, 2, out).stop);
}

TEST(Cutoff, LeastAndMostHold) {
  Cutoff least = learnt({.least = 4});
  teach(least);
  EXPECT_FALSE(least.look(2.0, 3, std::vector<std::uint32_t>{3}).stop);
  Cutoff most = learnt({.most = 2});
  teach(most);
  EXPECT_TRUE(most.look(0.98, 2, std::vector<std::uint32_t>{2, 3}).stop);
}

TEST(Cutoff, OneThatBeginsLateIsWaitedForLater) {
  Cutoff cutoff = learnt({});
  teach(cutoff);
  const std::vector<std::uint32_t> out{2, 3};
  EXPECT_TRUE(cutoff.look(1.5, 2, out).stop);
  cutoff.begin_late(2, 0.6);  // So it is due at 1.6.
  EXPECT_FALSE(cutoff.look(1.5, 2, out).stop);
  EXPECT_TRUE(cutoff.look(2.1, 2, out).stop);
}

TEST(Cutoff, ItsRateIsThatOfTheRun) {
  Cutoff cutoff = learnt({});
  EXPECT_EQ(cutoff.rate(), 0.0);
  for (int i = 0; i < 5; ++i) {
    cutoff.end(arrived({2.0, 2.0, 2.0, 2.0}), 4, 2.0);
  }
  EXPECT_DOUBLE_EQ(cutoff.rate(), 2.0);
}

// Progress as of 1 - 0.5 / c: of four in 2 s and of two in 1 s, discounted once.
TEST(Cutoff, TheRateIsOfWhatThePastWouldBeWorthNow) {
  Cutoff cutoff = learnt({});
  cutoff.end(arrived({2.0, 2.0, 2.0, 2.0}), 4, 2.0);
  cutoff.end(arrived({1.0, 1.0, 2.0, 2.0}), 2, 1.0);
  cutoff.set_worth({.per_update = 1.0, .per_gradient = 0.0, .noise = 0.5});
  EXPECT_NEAR(
      cutoff.rate(), (0.99 * (1.0 - 0.5 / 4) + (1.0 - 0.5 / 2)) / (0.99 * 2.0 + 1.0), 1e-12);
}

TEST(Cutoff, WithLittleNoiseOneGradientIsEnoughAndWithMuchAllAreWaitedFor) {
  const auto stops = [](Decide decide, double noise, std::uint32_t count) {
    Cutoff cutoff = learnt({.decide = decide});
    cutoff.set_worth({.per_update = 1.0, .per_gradient = 0.0, .noise = noise});
    teach(cutoff);
    std::vector<std::uint32_t> out;
    for (std::uint32_t w = count; w < 4; ++w) {
      out.push_back(w);
    }
    return cutoff.look(count == 3 ? 1.3 : 0.98, count, out).stop;
  };
  for (const Decide decide : {Decide::kBefore, Decide::kDeadline, Decide::kDuring}) {
    EXPECT_TRUE(stops(decide, 0.01, 1));
    EXPECT_FALSE(stops(decide, 0.8, 1));
    EXPECT_TRUE(stops(decide, 0.8, 3));
    EXPECT_FALSE(stops(decide, 3.5, 3));  // Three would be worth less than nothing.
  }
}

// argmax over k of G(k) / E[x_(k)], by a second way: the forecast's own draws, counted again.
TEST(Cutoff, BeforeIsTheBestExpectedDecreaseOverTheExpectedTime) {
  std::vector<std::uint32_t> chosen;
  for (const double noise : {0.05, 0.7, 1.6, 3.0}) {
    const Worth worth{.per_update = 1.0, .per_gradient = 0.0, .noise = noise};
    Cutoff cutoff = learnt({.decide = Decide::kBefore});
    cutoff.set_worth(worth);
    Rng rng(2, 0);
    for (int i = 0; i < 60; ++i) {
      cutoff.begin(kFour);
      cutoff.end(arrived(around({1.0, 1.3, 1.8, 2.6}, 0.05, rng)), 4, 2.6);
    }
    cutoff.begin(kFour);
    ASSERT_NE(cutoff.forecast(), nullptr);
    Draws draws;
    const std::vector<std::uint32_t> all{0, 1, 2, 3};
    draws.draw(*cutoff.forecast(), all, 1024, 99);
    std::uint32_t best = 1;
    for (std::uint32_t c = 2; c <= 4; ++c) {
      best = worth.of(c) / draws.mean(c) > worth.of(best) / draws.mean(best) ? c : best;
    }
    EXPECT_EQ(cutoff.plan().count, best) << noise;
    chosen.push_back(best);
  }
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace outpace::runtime_model
