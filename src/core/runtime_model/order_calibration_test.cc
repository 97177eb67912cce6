#include "runtime_model/order_calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::runtime_model {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<float> recalibrated(const OrderCalibration& calibration) {
  std::vector<float> draws(64, 1.0F);
  calibration.apply(1, {.median = 0.0, .spread = 0.1}, draws);
  return draws;
}

// The share of `draws` longer than this.
double share_above(const std::vector<float>& draws, double seconds) {
  return static_cast<double>(std::count_if(
             draws.begin(), draws.end(), [&](float draw) { return draw > seconds; })) /
         static_cast<double>(draws.size());
}

TEST(OrderCalibration, TheMiddleOfDrawsIsTheirMedianAndHalfTheirQuartilesDistance) {
  std::vector<float> draws;
  for (int i = 0; i < 400; ++i) {
    draws.push_back(static_cast<float>(std::exp(0.01 * i)));
  }
  const OrderCalibration::Middle middle = OrderCalibration::middle_of(draws);
  EXPECT_NEAR(middle.median, 2.0, 0.02);
  EXPECT_NEAR(middle.spread, 1.0, 0.02);
}

TEST(OrderCalibration, DrawsGetTheSpreadOfPastArrivals) {
  OrderCalibration calibration;
  Rng rng(1, 0);
  const std::vector<OrderCalibration::Middle> middle{{.median = 0.0, .spread = 0.1}};
  EXPECT_EQ(recalibrated(calibration), std::vector<float>(64, 1.0F));  // Nothing is known.
  for (int i = 0; i < 500; ++i) {  // Three times as far as the draws said, and 0.2 later.
    calibration.observe(middle, std::vector<double>{std::exp(0.2 + 0.3 * rng.normal())}, kNever);
  }
  const std::vector<float> draws = recalibrated(calibration);
  EXPECT_NEAR(std::log(draws[32]), 0.2, 0.05);
  EXPECT_NEAR(share_above(draws, std::exp(0.2 + 0.3)), 0.159, 0.04);
}

TEST(OrderCalibration, WhatTheCutoffLeftOutIsRedistributed) {
  OrderCalibration calibration;
  Rng rng(1, 0);
  const std::vector<OrderCalibration::Middle> middle{{.median = 0.0, .spread = 0.1}};
  for (int i = 0; i < 900; ++i) {
    const double seconds = std::exp(0.3 * rng.normal());
    const bool is_cut = i >= 100 && seconds > 1.2;  // The first hundred are seen whole.
    calibration.observe(middle,
                        is_cut ? std::vector<double>{} : std::vector<double>{seconds},
                        is_cut ? 1.2 : kNever);
  }
  const std::vector<float> draws = recalibrated(calibration);
  // log 1.2 / 0.3 = 0.608: 27 % are longer; and 10 % longer than exp(0.3 * 1.28).
  EXPECT_NEAR(share_above(draws, 1.2), 0.272, 0.07);
  EXPECT_NEAR(share_above(draws, 1.468), 0.10, 0.07);
}

}  // namespace
}  // namespace outpace::runtime_model
