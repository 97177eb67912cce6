#include "throughput/barrier.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "policy/catalogue.h"

namespace outpace::throughput {
namespace {

Barrier of(const char* policy) {
  return barrier_of(Spec::parse(policy), 8);
}

TEST(Barrier, TellsRoundsByTheirCutoff) {
  EXPECT_EQ(of("sync").kind, BarrierKind::kCutoff);
  EXPECT_EQ(of("sync").cutoff, 8U);
  EXPECT_EQ(of("backup:cutoff=6").kind, BarrierKind::kCutoff);
  EXPECT_EQ(of("backup:cutoff=6").cutoff, 6U);
  EXPECT_EQ(of("kbatchsync:k=5").kind, BarrierKind::kRestarting);
  EXPECT_EQ(of("kbatchsync:k=5").cutoff, 5U);
  EXPECT_EQ(of("dynamic").kind, BarrierKind::kBestCutoff);
}

TEST(Barrier, TellsWhoWaitsForNobodyFromWhoWaitsForTheSlowest) {
  EXPECT_EQ(of("async").kind, BarrierKind::kNone);
  EXPECT_EQ(of("kbatchasync:k=4").kind, BarrierKind::kNone);
  EXPECT_EQ(of("saps:s=14,action=dampen").kind, BarrierKind::kNone);
  EXPECT_EQ(of("saps:s=14").kind, BarrierKind::kLateOnes);
  EXPECT_EQ(of("softsync:n=4").kind, BarrierKind::kNone);
  EXPECT_EQ(of("ssp:s=3").kind, BarrierKind::kBoundedStaleness);
  EXPECT_EQ(of("psp:beta=2").kind, BarrierKind::kBoundedStaleness);
}

TEST(Barrier, TellsUpdatesOfDistinctWorkers) {
  EXPECT_EQ(of("kasync:k=4").kind, BarrierKind::kDistinct);
  EXPECT_EQ(of("kasync:k=4").cutoff, 4U);
  EXPECT_EQ(of("adasync:k=4").kind, BarrierKind::kDistinct);
  EXPECT_EQ(of("adasync:k=4,rule=ksync").kind, BarrierKind::kCutoff);
  EXPECT_EQ(of("adasync:k=4,rule=kbatchsync").kind, BarrierKind::kRestarting);
}

TEST(Barrier, DoesNotModelAPolicyThatChanges) {
  EXPECT_FALSE(is_modelled(of("switch(ssp:s=3 until updates>9 then async)")));
  EXPECT_TRUE(is_modelled(of("sync")));
}

TEST(Barrier, RefusesAPolicyThatGoesByWhatIsLearnt) {
  EXPECT_THROW((void)of("auto"), Error);
  EXPECT_THROW((void)of("switch(sync until loss<0.5 then async)"), Error);
}

TEST(Barrier, RefusesWhatIsNoPolicy) {
  EXPECT_THROW((void)of("sinc"), Error);
  EXPECT_THROW((void)of("backup:cutoff=9"), Error);
}

}  // namespace
}  // namespace outpace::throughput
