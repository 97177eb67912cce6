#include "plot/cutoff_figure.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::plot {
namespace {

TEST(CutoffFigure, HasTheArrivalsAndTheStopOfAnIteration) {
  const std::vector<double> came{0.1, 0.2, 0.4};
  const CutoffIteration one = to_iteration(
      {.row = 7, .forecast = nullptr, .came = came, .ended = {.seconds = 0.2, .count = 2}});
  EXPECT_EQ(one.came, came);
  EXPECT_EQ(one.chosen.seconds, 0.2);
  EXPECT_EQ(one.chosen.count, 2);
  EXPECT_FALSE(one.forecast);
}

TEST(CutoffFigure, HasTheForecastOfTheGradientThatItStoppedWith) {
  const std::vector<double> came{0.1, 0.2, 0.4};
  runtime_model::Forecast forecast;
  forecast.reset(runtime_model::TimeGrid(0.01, 0.05, 100), 3);
  forecast.set_lognormal_rows(came, 0.1);
  const CutoffIteration one = to_iteration(
      {.row = 7, .forecast = &forecast, .came = came, .ended = {.seconds = 0.2, .count = 2}});
  ASSERT_TRUE(one.forecast);
  EXPECT_LT(one.forecast->low90, one.forecast->low50);
  EXPECT_LT(one.forecast->low50, 0.2);  // The median of the second of three.
  EXPECT_GT(one.forecast->high50, 0.2);
  EXPECT_LT(one.forecast->high50, one.forecast->high90);
  EXPECT_LT(one.forecast->high90, 0.3);
}

TEST(CutoffFigure, ShowsTheLastHundredIterationsOrThoseFromARow) {
  EXPECT_EQ(window_from(std::nullopt, 20, 250), 150);
  EXPECT_EQ(window_from(std::nullopt, 20, 30), 0);
  EXPECT_EQ(window_from(20, 20, 20), 0);
  EXPECT_EQ(window_from(39, 20, 20), 19);
}

TEST(CutoffFigure, RefusesARowThatIsNotJudged) {
  for (const std::size_t row : {std::size_t{19}, std::size_t{40}}) {
    EXPECT_EQ(
        refusal_of([&] { (void)window_from(row, 20, 20); }),
        "--plot-from is " + std::to_string(row) + "; it takes a row that is judged, from 20 to 39");
  }
}

}  // namespace
}  // namespace outpace::plot
