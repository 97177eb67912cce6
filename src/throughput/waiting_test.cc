#include "throughput/waiting.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "policy/catalogue.h"

namespace outpace::throughput {
namespace {

Coordination of(const char* policy) {
  return coordination_of(Spec::parse(policy), 8);
}

TEST(Coordination, TellsRoundsByTheirCutoff) {
  EXPECT_EQ(of("sync").waits, Waits::kCutoff);
  EXPECT_EQ(of("sync").cutoff, 8U);
  EXPECT_EQ(of("backup:cutoff=6").waits, Waits::kCutoff);
  EXPECT_EQ(of("backup:cutoff=6").cutoff, 6U);
  EXPECT_EQ(of("kbatchsync:k=5").waits, Waits::kRestarting);
  EXPECT_EQ(of("kbatchsync:k=5").cutoff, 5U);
  EXPECT_EQ(of("dynamic").waits, Waits::kBestCutoff);
}

TEST(Coordination, TellsWhoWaitsForNobodyFromWhoWaitsForTheSlowest) {
  EXPECT_EQ(of("async").waits, Waits::kNobody);
  EXPECT_EQ(of("saps:s=14").waits, Waits::kNobody);
  EXPECT_EQ(of("softsync:n=4").waits, Waits::kNobody);
  EXPECT_EQ(of("ssp:s=3").waits, Waits::kSlowest);
  EXPECT_EQ(of("switch(ssp:s=3 until updates>9 then async)").waits, Waits::kSlowest);
}

TEST(Coordination, RefusesWhatIsNoPolicy) {
  EXPECT_THROW((void)of("sinc"), Error);
  EXPECT_THROW((void)of("backup:cutoff=9"), Error);
}

}  // namespace
}  // namespace outpace::throughput
