#include "runtime_model/cutoff.h"

#include <limits>
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

// Half have come at 1 s, so nobody is waited for beyond 4 s; and nobody is sent away.
TEST(Cutoff, WhileNothingIsKnownTheWaitIsBoundedByWhatHalfOfThemTook) {
  Cutoff cutoff = learnt({});
  cutoff.begin(kFour);
  EXPECT_EQ(cutoff.look(0.5, 1, std::vector<std::uint32_t>{1, 2, 3}).again,
            std::numeric_limits<double>::infinity());
  EXPECT_NEAR(cutoff.look(1.0, 2, std::vector<std::uint32_t>{2, 3}).again, 4.0, 1e-9);
  const Cutoff::Verdict before = cutoff.look(3.0, 3, std::vector<std::uint32_t>{3});
  EXPECT_FALSE(before.stop);
  EXPECT_NEAR(before.again, 4.0, 1e-9);
  const Cutoff::Verdict at_last = cutoff.look(4.0, 3, std::vector<std::uint32_t>{3});
  EXPECT_TRUE(at_last.stop);
  EXPECT_TRUE(at_last.lets_finish);
}

TEST(Cutoff, WherePartsCountHalfAreWaitedForWhileNothingIsKnown) {
  Cutoff cutoff = learnt({.parts_count = true});
  cutoff.begin(kFour);
  EXPECT_FALSE(cutoff.look(0.5, 1, std::vector<std::uint32_t>{1, 2, 3}).stop);
  const Cutoff::Verdict half = cutoff.look(1.0, 2, std::vector<std::uint32_t>{2, 3});
  EXPECT_TRUE(half.stop);
  EXPECT_FALSE(half.lets_finish) << "who has done a part hands it in";
}

TEST(Cutoff, TheRateHasThePartsWhereTheyCount) {
  Cutoff cutoff = learnt({.parts_count = true});
  cutoff.begin(kFour);
  cutoff.end(arrived({1.0, 1.0, 2.0, 4.0}), 2, 1.25, /*typical=*/true, /*parts=*/0.75);
  EXPECT_NEAR(cutoff.rate(), 2.2, 1e-12);
}

TEST(Cutoff, AnIterationThatIsNotTypicalLeavesTheRateAsItIs) {
  Cutoff cutoff = learnt({});
  cutoff.begin(kFour);
  cutoff.end(std::vector<Observation>(4), 4, 500.0, /*typical=*/false);
  EXPECT_EQ(cutoff.rate(), 0.0);
  cutoff.begin(kFour);
  cutoff.end(arrived({1.0, 1.0, 1.0, 2.0}), 4, 2.0);
  EXPECT_NEAR(cutoff.rate(), 2.0, 1e-9);
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

// Progress as of c / (1 + c / 2): of four in 2 s and of two in 1 s, discounted once.
TEST(Cutoff, TheRateIsOfWhatThePastWouldBeWorthNow) {
  Cutoff cutoff = learnt({});
  cutoff.end(arrived({2.0, 2.0, 2.0, 2.0}), 4, 2.0);
  cutoff.end(arrived({1.0, 1.0, 2.0, 2.0}), 2, 1.0);
  cutoff.set_worth({.saturation = 0.5});
  EXPECT_NEAR(cutoff.rate(), (0.99 * 4.0 / 3.0 + 2.0 / 2.0) / (0.99 * 2.0 + 1.0), 1e-12);
}

TEST(Cutoff, WithLittleNoiseOneGradientIsEnoughAndWithMuchTheyCount) {
  const auto stops = [](Decide decide, double saturation, std::uint32_t count) {
    Cutoff cutoff = learnt({.decide = decide});
    cutoff.set_worth({.saturation = saturation});
    teach(cutoff);
    std::vector<std::uint32_t> out;
    for (std::uint32_t w = count; w < 4; ++w) {
      out.push_back(w);
    }
    return cutoff.look(count == 3 ? 1.3 : 0.98, count, out).stop;
  };
  for (const Decide decide : {Decide::kBefore, Decide::kDeadline, Decide::kDuring}) {
    EXPECT_TRUE(stops(decide, 100.0, 1));
    EXPECT_FALSE(stops(decide, 0.1, 1));
    EXPECT_TRUE(stops(decide, 0.1, 3));
  }
}

// argmax over k of G(k) / E[x_(k)], by a second way: the forecast's own draws, counted again.
TEST(Cutoff, BeforeIsTheBestExpectedDecreaseOverTheExpectedTime) {
  std::vector<std::uint32_t> chosen;
  for (const double saturation : {10.0, 0.5, 0.02}) {
    const Worth worth{.saturation = saturation};
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
    EXPECT_EQ(cutoff.plan().count, best) << saturation;
    chosen.push_back(best);
  }
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{1, 2, 3}));
}

}  // namespace
}  // namespace outpace::runtime_model
