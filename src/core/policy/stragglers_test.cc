#include "policy/stragglers.h"

#include <string>

#include <gtest/gtest.h>

#include "policy/catalogue.h"

namespace outpace::policy {
namespace {

Stragglers of(const std::string& policy) {
  return stragglers_of(Spec::parse(policy));
}

TEST(Stragglers, OnlyRoundsCutThemOff) {
  EXPECT_EQ(of("sync"), Stragglers::kAwaited);
  for (const char* policy : {"backup:cutoff=6",
                             "dynamic",
                             "ksync:k=2",
                             "kbatchsync:k=2",
                             "adasync:k=2,rule=ksync",
                             "adasync:k=2,rule=kbatchsync"}) {
    EXPECT_EQ(of(policy), Stragglers::kCutOff) << policy;
  }
  for (const char* policy :
       {"async", "softsync:n=2", "kbatchasync:k=2", "saps", "adasync:k=2,rule=kbatchasync"}) {
    EXPECT_EQ(of(policy), Stragglers::kGoOn) << policy;
  }
  for (const char* policy :
       {"kasync:k=2", "ssp:s=3", "dssp:low=1,high=2", "psp:beta=2", "adasync:k=2"}) {
    EXPECT_EQ(of(policy), Stragglers::kPartlyWait) << policy;
  }
}

TEST(Stragglers, AreCutOffByNoAsynchronousPolicyOfTheCatalogue) {
  Rng rng(1, 0);
  for (const Entry& entry : catalogue()) {
    const Spec policy = Spec::parse(draw_spec(entry, rng, 6));
    const Stragglers found = stragglers_of(policy);
    EXPECT_EQ(found == Stragglers::kCutOff || found == Stragglers::kAwaited,
              !is_asynchronous(policy))
        << policy.text;
  }
}

}  // namespace
}  // namespace outpace::policy
