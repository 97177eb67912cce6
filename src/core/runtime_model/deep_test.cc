#include "runtime_model/deep.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/cutoff.h"
#include "runtime_model/model_list.h"
#include "runtime_model/random_weights_test.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

constexpr std::uint32_t kWorkers = 5;

std::vector<Observation> partly_seen(Rng& rng) {
  std::vector<Observation> seen = arrived(around(std::vector<double>(kWorkers, 1.0), 0.3, rng));
  for (Observation& one : seen) {
    const std::uint64_t kind = rng.below(5);
    one.fate = kind == 0 ? Fate::kLonger : kind == 1 ? Fate::kBusy : Fate::kArrived;
  }
  seen.front().fate = Fate::kArrived;
  return seen;
}

std::vector<float> rows_of(const Forecast& forecast) {
  std::vector<float> all;
  for (std::uint32_t w = 0; w < forecast.workers(); ++w) {
    all.insert(all.end(), forecast.row(w).begin(), forecast.row(w).end());
  }
  return all;
}

TEST(Deep, KnowsNothingBeforeTheFirstIteration) {
  Deep model(random_weights(1));
  Forecast forecast;
  EXPECT_FALSE(model.forecast(forecast));
}

TEST(Deep, ForecastsDistributionsWhateverItsWeightsAre) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    DeepWeights weights = random_weights(seed);
    for (float& number : weights.numbers) {
      number *= seed % 2 == 0 ? 1.0F : 1e3F;  // Garbage, too.
    }
    Deep model(weights);
    Rng rng(seed, 1);
    Forecast forecast;
    for (int i = 0; i < 60; ++i) {
      const std::vector<Observation> seen = partly_seen(rng);
      model.observe(seen);
      for (std::uint32_t w = 0; w < kWorkers; ++w) {
        if (seen[w].fate == Fate::kLonger && rng.below(2) == 0) {
          model.correct(w, seen[w].seconds * 2.0);
        }
      }
      ASSERT_TRUE(model.forecast(forecast));
      for (std::uint32_t w = 0; w < kWorkers; ++w) {
        const auto row = forecast.row(w);
        EXPECT_EQ(row.back(), 1.0F);
        for (std::size_t bin = 1; bin < row.size(); ++bin) {
          ASSERT_GE(row[bin], row[bin - 1]) << "seed " << seed << ", iteration " << i;
        }
      }
      for (const float rank : forecast.ranks()) {
        ASSERT_TRUE(rank > 0.0F && rank < 1.0F);
      }
    }
  }
}

TEST(Deep, SaysTheSameOfTheSamePast) {
  Forecast one;
  Forecast other;
  for (Forecast* forecast : {&one, &other}) {
    Deep model(random_weights(2));
    Rng rng(3, 0);
    for (int i = 0; i < 50; ++i) {
      (void)model.forecast(*forecast);
      model.observe(partly_seen(rng));
    }
    ASSERT_TRUE(model.forecast(*forecast));
  }
  EXPECT_EQ(rows_of(one), rows_of(other));
}

TEST(Deep, ALateTimeTakesThePlaceOfWhatWasCutOff) {
  Forecast known;
  Forecast late;
  Forecast never;
  Deep in_time(random_weights(4));
  Deep corrected(random_weights(4));
  Deep cut(random_weights(4));
  std::vector<Observation> seen = arrived({1.0, 1.1, 0.9, 1.0, 1.2});
  for (Deep* model : {&in_time, &corrected, &cut}) {
    model->observe(seen);
  }
  seen[4].fate = Fate::kLonger;
  corrected.observe(seen);
  cut.observe(seen);
  corrected.correct(4, 3.0);
  corrected.correct(4, 7.0);  // Said once.
  ASSERT_TRUE(corrected.forecast(late));
  ASSERT_TRUE(cut.forecast(never));
  EXPECT_NE(rows_of(late), rows_of(never));
  for (std::uint32_t w = 0; w < 4; ++w) {  // The four others do not change.
    EXPECT_NEAR(late.quantile(w, 0.5), never.quantile(w, 0.5), 1e-9);
  }
}

TEST(Deep, AWorkerThatIsBusyIsAsItWas) {
  Deep model(random_weights(5));
  model.observe(arrived({1.0, 1.1, 0.9, 1.0, 1.2}));
  Forecast before;
  ASSERT_TRUE(model.forecast(before));
  std::vector<Observation> seen = arrived({1.0, 1.0, 1.0, 1.0, 1.0});
  seen[2].fate = Fate::kBusy;
  model.observe(seen);
  Forecast after;
  ASSERT_TRUE(model.forecast(after));
  // But for the reference, which moves a little.
  EXPECT_NEAR(std::log(after.quantile(2, 0.5) / before.quantile(2, 0.5)), 0.0, 0.03);
}

TEST(Deep, GarbageIsNotBelievedByAuto) {
  DeepWeights garbage = random_weights(6);
  for (float& number : garbage.numbers) {
    number *= 30.0F;
  }
  const auto model = make_model("auto", kWorkers, &garbage);
  Rng rng(7, 0);
  Forecast forecast;
  for (int i = 0; i < 100; ++i) {
    (void)model->forecast(forecast);
    model->observe(arrived(around({1.0, 1.0, 1.0, 4.0, 1.0}, 0.05, rng)));
    EXPECT_NE(model->believed(), "deep");
  }
}

}  // namespace
}  // namespace outpace::runtime_model
