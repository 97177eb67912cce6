#include "base/student_t.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace outpace {
namespace {

TEST(StudentT, IsThatOfTheTables) {
  // Abramowitz & Stegun, table 26.10, A = 0.95.
  EXPECT_NEAR(student_t(1, 0.95), 12.706, 5e-4);
  EXPECT_NEAR(student_t(2, 0.95), 4.303, 5e-4);
  EXPECT_NEAR(student_t(4, 0.95), 2.776, 5e-4);
  EXPECT_NEAR(student_t(9, 0.95), 2.262, 5e-4);
  EXPECT_NEAR(student_t(30, 0.99), 2.750, 5e-4);
}

TEST(StudentT, HasClosedFormsForOneAndTwoDegrees) {
  for (const double confidence : {0.01, 0.5, 0.9, 0.95, 0.999}) {
    const double one = std::tan(0.5 * std::numbers::pi * confidence);
    EXPECT_NEAR(student_t(1, confidence), one, 1e-10 * one);
    const double two = confidence * std::sqrt(2.0 / (1.0 - confidence * confidence));
    EXPECT_NEAR(student_t(2, confidence), two, 1e-10 * two);
  }
}

TEST(StudentT, OfManyDegreesIsNormal) {
  EXPECT_NEAR(student_t(1'000'000, 0.95), 1.959964, 1e-5);
}

}  // namespace
}  // namespace outpace
