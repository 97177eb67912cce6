#include "runtime_model/cutoff.h"

#include <gtest/gtest.h>

#include "runtime_model/catalogue.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

const std::vector<Cutoff::Participant> kFour{
    {.worker = 0}, {.worker = 1}, {.worker = 2}, {.worker = 3}};

// Three workers take one second and the fourth eight; all was seen for some iterations.
Cutoff learnt(Cutoff::Options options) {
  return Cutoff(make_model("switching"), options);
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

}  // namespace
}  // namespace outpace::runtime_model
