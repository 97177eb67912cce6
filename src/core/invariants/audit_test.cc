#include "invariants/audit.h"

#include <array>

#include <gtest/gtest.h>

#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

TEST(Audit, FindsWhatTheWeightsHaveTooOftenOrTooSeldom) {
  Audit audit(4, 1, /*with_replacement=*/false);
  audit.used({{0, 0, 4}}, 1.0);
  audit.used({{1, 0, 2}, {1, 2, 4}}, 1.0);
  EXPECT_NO_THROW(audit.check(std::array{-2.0F, -2.0F, -2.0F, -2.0F}, 2));
  EXPECT_THROW(audit.check(std::array{-2.0F, -3.0F, -2.0F, -2.0F}, 2), Violation);
  EXPECT_THROW(audit.check(std::array{-2.0F, -2.0F, -1.0F, -2.0F}, 2), Violation);
}

TEST(Audit, CountsWithTheWeightOfTheGradient) {
  Audit audit(2, 1, /*with_replacement=*/false);
  audit.used({{0, 0, 2}}, 0.25);
  EXPECT_NO_THROW(audit.check(std::array{-0.25F, -0.25F}, 1));
  EXPECT_THROW(audit.check(std::array{-0.25F, -0.2501F}, 1), Violation);
}

}  // namespace
}  // namespace outpace::invariants
