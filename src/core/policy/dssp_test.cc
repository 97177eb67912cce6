#include "policy/dssp.h"

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

// Two workers that have each finished once: the fast one needs `fast` seconds, the slow one `slow`.
CheckedDriver with_paces(const std::string& spec, double fast, double slow) {
  CheckedDriver driver(spec, 2);
  driver.join_all(2);
  driver.arrive(0, {}, at(fast));
  driver.arrive(1, {}, at(slow));
  return driver;
}

TEST(Dssp, LetsTheFastestGoOnUntilTheSlowestIsAboutToFinish) {
  // Both at clock 1 at 1 s and 4 s; the fast one goes on from 1 s, as if it took 2 s a mini-batch.
  CheckedDriver driver = with_paces("dssp:low=0,high=8", 1.0, 4.0);
  driver.arrive(0, {}, at(3.0));
  EXPECT_TRUE(driver.computes(0)) << "done again at 5 and 7 s, and the slowest at 8 s";
  EXPECT_EQ(driver.last().reason.why, Why::kBoundRaised);
  driver.arrive(0, {}, at(5.0));
  EXPECT_TRUE(driver.computes(0));
}

TEST(Dssp, NeverLetsAnybodyBeMoreThanHighAhead) {
  CheckedDriver driver = with_paces("dssp:low=1,high=3", 1.0, 100.0);
  double now = 100.0;
  while (driver.computes(0)) {
    now += 1.0;
    driver.arrive(0, {}, at(now));
  }
  // It began its last iteration at most 3 ahead of clock 1.
  EXPECT_LE(driver.version(), 1U + 5U);
  EXPECT_EQ(driver.last().reason.why, Why::kTooFarAhead);
}

TEST(Dssp, WaitsAsSspDoesForOneOfUnknownPace) {
  CheckedDriver driver("dssp:low=1,high=9", 2);
  driver.join_all(2);
  driver.arrive(0, {}, at(1.0));
  driver.arrive(0, {}, at(2.0));
  EXPECT_FALSE(driver.computes(0));
}

// The lowest clock rises when all that have it have finished, in whatever order they are numbered.
TEST(Dssp, WaitsForTheLastOfThoseThatAreEquallyFarBehind) {
  for (const std::uint32_t slowest : {1U, 2U}) {
    CheckedDriver driver("dssp:low=0,high=8", 3);
    driver.join_all(3);
    driver.arrive(0, {}, at(1.0));
    driver.arrive(3 - slowest, {}, at(1.5));
    driver.arrive(slowest, {}, at(4.0));
    // The slowest is expected at 8 s: three more iterations of 1 s leave nothing to wait.
    driver.arrive(0, {}, at(5.0));
    EXPECT_EQ(driver.last().reason.why, Why::kBoundRaised) << "the slowest is worker " << slowest;
    EXPECT_EQ(driver.last().reason.b, 3.0) << "the slowest is worker " << slowest;
  }
}

}  // namespace
}  // namespace outpace::policy
