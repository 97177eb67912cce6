#include "throughput/sampled_timing.h"

#include <set>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

constexpr WorkerId kFirst{0};
constexpr WorkerId kSecond{1};

SampledTiming sampled(std::vector<double> seconds, double besides = 0.0, std::uint32_t cores = 0) {
  return SampledTiming(
      {.draw = draw_measured(std::move(seconds), 1),
       .besides = besides,
       .paces = {worker::Pace(worker::PaceOptions{}), worker::Pace(worker::PaceOptions{})},
       .factors = {1.0, 3.0},
       .cores = cores});
}

TEST(SampledTiming, DrawsEveryMeasuredIteration) {
  const DrawSeconds draw = draw_measured({0.1, 0.2, 0.3}, 1);
  std::set<double> drawn;
  for (std::uint64_t i = 0; i < 100; ++i) {
    drawn.insert(draw(kFirst, i, Time{}));
  }
  EXPECT_EQ(drawn, (std::set<double>{0.1, 0.2, 0.3}));
}

TEST(SampledTiming, TakesItsShareItsFactorAndWhatComesBesides) {
  SampledTiming all = sampled({0.1}, 0.01);
  EXPECT_NEAR(to_seconds(all.finish(kFirst, Time{}, 1.0, 0).time_since_epoch()), 0.11, 1e-9);
  EXPECT_NEAR(to_seconds(all.finish(kSecond, Time{}, 0.5, 0).time_since_epoch()), 0.16, 1e-9);
  EXPECT_NEAR(all.done(kSecond, Time{}, Time{from_seconds(0.15)}, 0), 0.5, 1e-9);
}

TEST(SampledTiming, TheFirstMiniBatchBeginsWhenItsWorkerDoes) {
  SampledTiming timing({.draw = draw_measured({0.1}, 1),
                        .paces = std::vector<worker::Pace>(2, worker::Pace({})),
                        .factors = {1, 1},
                        .begins = {0.0, 0.5}});
  EXPECT_EQ(timing.finish(kFirst, Time{}, 1.0, 0), Time{from_seconds(0.1)});
  EXPECT_EQ(timing.finish(kSecond, Time{}, 1.0, 0), Time{from_seconds(0.6)});
  EXPECT_EQ(timing.done(kSecond, Time{}, Time{from_seconds(0.5)}, 0), 0.0);
  EXPECT_EQ(timing.finish(kSecond, Time{}, 1.0, 1), Time{from_seconds(0.1)});
}

TEST(SampledTiming, SharesProcessors) {
  SampledTiming one_core = sampled({0.1}, 0.0, 1);
  EXPECT_NEAR(to_seconds(one_core.finish(kFirst, Time{}, 1.0, 0).time_since_epoch()), 0.1, 1e-9);
  EXPECT_NEAR(to_seconds(one_core.finish(kSecond, Time{}, 1.0, 0).time_since_epoch()), 0.4, 1e-9);
}

}  // namespace
}  // namespace outpace::throughput
