#include "policy/promise.h"

#include <gtest/gtest.h>

#include "policy/catalogue.h"

namespace outpace::policy {
namespace {

Promise promised_by(const char* spec) {
  return promise_of(Spec::parse(spec));
}

TEST(Promise, OfRoundsIsThatNothingIsStale) {
  for (const char* spec : {"sync",
                           "backup:cutoff=4",
                           "dynamic",
                           "ksync:k=4",
                           "kbatchsync:k=4",
                           "adasync:k=3,rule=ksync",
                           "adasync:k=3,rule=kbatchsync"}) {
    EXPECT_EQ(promised_by(spec).staleness_most, 0U) << spec;
  }
  for (const char* spec : {"async",
                           "softsync:n=2",
                           "kasync:k=4",
                           "kbatchasync:k=4",
                           "adasync:k=3",
                           "ssp:s=3",
                           "dssp:low=1,high=4",
                           "psp:beta=2"}) {
    EXPECT_EQ(promised_by(spec).staleness_most, kUnbounded) << spec;
  }
}

TEST(Promise, OfSapsIsItsBoundUnlessItDampens) {
  EXPECT_EQ(promised_by("saps:s=7").staleness_most, 7U);
  EXPECT_EQ(promised_by("saps:7,action=shrink").staleness_most, 7U);
  EXPECT_TRUE(promised_by("saps").staleness_by_workers);
  EXPECT_TRUE(promised_by("saps:action=refresh").staleness_by_workers);
  EXPECT_FALSE(promised_by("saps:s=2.5x").staleness_by_workers);
  EXPECT_EQ(promised_by("saps:s=2.5x").staleness_most, kUnbounded);
  EXPECT_EQ(promised_by("saps:s=2,action=dampen").staleness_most, kUnbounded);
  EXPECT_FALSE(promised_by("saps:action=dampen").staleness_by_workers);
}

TEST(Promise, IsHowFarAheadAWorkerMayBe) {
  EXPECT_EQ(promised_by("ssp:3").ahead_most, 3U);
  EXPECT_EQ(promised_by("dssp:low=1,high=4").ahead_most, 4U);
  EXPECT_EQ(promised_by("dssp:1,high=4").ahead_most, 4U);
  EXPECT_EQ(promised_by("psp:beta=2,s=1").ahead_most, kUnbounded) << "of a sample, not of all";
  EXPECT_EQ(promised_by("async").ahead_most, kUnbounded);
}

TEST(Promise, IsHowManyGradientsAnUpdateWaitsFor) {
  const auto expect = [](const char* spec, Awaits awaits, std::uint64_t gradients) {
    EXPECT_EQ(promised_by(spec).awaits, awaits) << spec;
    EXPECT_EQ(promised_by(spec).gradients, gradients) << spec;
  };
  expect("sync", Awaits::kWorkers, kUnbounded);
  expect("backup:6", Awaits::kWorkers, 6);
  expect("ksync:k=5", Awaits::kWorkers, 5);
  expect("kasync:k=5", Awaits::kWorkers, 5);
  expect("kbatchsync:k=5", Awaits::kRound, 5);
  expect("kbatchasync:k=5", Awaits::kBatches, 5);
  expect("softsync:n=2", Awaits::kSplits, 2);
  expect("saps:s=7", Awaits::kOne, kUnbounded);
  expect("dynamic:max=4", Awaits::kAny, kUnbounded);
  expect("adasync:k=3", Awaits::kAny, kUnbounded);
}

}  // namespace
}  // namespace outpace::policy
