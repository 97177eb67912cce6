#include "runtime_model/kalman.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

// Half of the workers follow one slow wave, the others do not; all have noise of their own.
std::vector<double> wave(int t, int workers, Rng& rng) {
  std::vector<double> levels;
  for (int w = 0; w < workers; ++w) {
    levels.push_back(w % 2 == 0 ? std::exp(std::sin(t / 30.0)) : 2.0);
  }
  return around(levels, 0.05, rng);
}

TEST(Kalman, FollowsWhatWorkersHaveInCommonThroughWhoIsSeen) {
  constexpr int kMembers = 12;
  Kalman model;
  Forecast forecast;
  Rng rng(3, 0);
  double error = 0.0;
  int judged = 0;
  for (int t = 0; t < 2000; ++t) {
    std::vector<Observation> seen = arrived(wave(t, kMembers, rng));
    if (t >= 1000) {
      // Nothing is known of the first two any more, but of those like them.
      ASSERT_TRUE(model.forecast(forecast));
      error += std::abs(std::log(forecast.quantile(0, 0.5)) - std::sin(t / 30.0));
      error += std::abs(std::log(forecast.quantile(1, 0.5) / 2.0));
      ++judged;
      seen[0].fate = Fate::kBusy;
      seen[1].fate = Fate::kBusy;
    }
    model.observe(seen);
  }
  EXPECT_LT(error / (2 * judged), 0.08);
}

TEST(Kalman, TakesTheLateTimeForWhatItBelieved) {
  Kalman corrected;
  Kalman told;
  const auto cut = [](double given) {
    return std::vector<Observation>{{.seconds = 1.0, .fate = Fate::kArrived},
                                    {.seconds = given, .fate = Fate::kLonger}};
  };
  for (Kalman* model : {&corrected, &told}) {
    for (int i = 0; i < 50; ++i) {
      model->observe(arrived({1.0, 1.0 + 0.01 * (i % 3)}));
    }
    model->observe(cut(1.2));
  }
  corrected.correct(1, 8.0);
  Forecast late;
  Forecast early;
  ASSERT_TRUE(corrected.forecast(late));
  ASSERT_TRUE(told.forecast(early));
  EXPECT_GT(late.quantile(1, 0.5), early.quantile(1, 0.5));
  EXPECT_GT(late.quantile(1, 0.95), early.quantile(1, 0.95));
  corrected.correct(1, 8.0);  // Once is enough.
  Forecast again;
  ASSERT_TRUE(corrected.forecast(again));
  EXPECT_EQ(again.quantile(1, 0.5), late.quantile(1, 0.5));
}

}  // namespace
}  // namespace outpace::runtime_model
