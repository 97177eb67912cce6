#include "policy/psp.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

// One of `others` is behind: a sample of beta of them has it with probability beta / others.
TEST(Psp, WaitsAsOftenAsASampleHasOneThatIsBehind) {
  constexpr std::uint32_t kOthers = 8;
  constexpr int kSeeds = 4000;
  for (const std::uint32_t beta : {1U, 2U, 5U, 8U}) {
    int waited = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      CheckedDriver driver("psp:beta=" + std::to_string(beta) + ",seed=" + std::to_string(seed),
                           kOthers + 1);
      driver.join_all(kOthers + 1);
      for (std::uint32_t worker = 2; worker <= kOthers; ++worker) {
        driver.arrive(worker);
      }
      driver.arrive(0);  // All but worker 1 have finished one, worker 0 last.
      waited += driver.computes(0) ? 0 : 1;
    }
    const double share = static_cast<double>(beta) / kOthers;
    const double deviation = std::sqrt(share * (1.0 - share) / kSeeds);
    EXPECT_NEAR(static_cast<double>(waited) / kSeeds, share, 5.0 * deviation) << beta;
  }
}

TEST(Psp, WaitsNoLongerForWhoIsGone) {
  CheckedDriver driver("psp:beta=2", 3);
  driver.join_all(3);
  driver.arrive(0);
  driver.leave(1, Departure::kDead);
  EXPECT_FALSE(driver.computes(0));
  driver.leave(2, Departure::kDead);
  EXPECT_TRUE(driver.computes(0));
}

TEST(Psp, ForgetsWhomADeadWorkerWaitedFor) {
  CheckedDriver driver("psp:beta=1", 2);
  driver.join_all(2);
  driver.arrive(0);
  driver.leave(0, Departure::kDead);
  driver.join(0);
  driver.arrive(1);  // It would release worker 0 a second time.
  EXPECT_TRUE(driver.computes(0));
}

TEST(Psp, LetsAJoinerStartAtTheLeastClock) {
  CheckedDriver driver("psp:beta=2,s=0", 3);
  driver.join_all(2);
  for (int i = 0; i < 5; ++i) {
    driver.arrive(0);
    driver.arrive(1);
  }
  driver.join(2);
  driver.arrive(2);
  driver.arrive(0);
  driver.arrive(1);
  EXPECT_TRUE(driver.computes(0) && driver.computes(1) && driver.computes(2));
}

}  // namespace
}  // namespace outpace::policy
