#include "live/policy_change.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/memory_archive.h"

namespace outpace::live {
namespace {

constexpr wire::ConnectionId kAsker{7};

TEST(PolicyChange, BeginsWithTheFirstPhase) {
  PolicyChange policy(Spec::parse("switch(async until updates>9 then sync)"));
  EXPECT_EQ(policy.in_force(), "async");
  EXPECT_EQ(policy.set(), "switch(async until updates>9 then sync)");
  EXPECT_EQ(policy.coming(), "");
  EXPECT_EQ(policy.switched({Version{10}, 1, "none"}),
            "policy is now sync from version 10 on, staleness rule none");
  EXPECT_EQ(policy.in_force(), "sync");
  EXPECT_FALSE(policy.take_asker());
}

TEST(PolicyChange, DoesNotDecideBeforeTheSeam) {
  PolicyChange policy(Spec::parse("sync"));
  policy.ask(Spec::parse("async"), kAsker);
  EXPECT_EQ(policy.in_force(), "sync");
  EXPECT_EQ(policy.coming(), "async");
  (void)policy.switched({Version{3}, 0, "none"});
  EXPECT_EQ(policy.in_force(), "async");
  EXPECT_EQ(policy.take_asker(), kAsker);
  EXPECT_FALSE(policy.take_asker()) << "it is answered once";
  EXPECT_EQ(policy.coming(), "");
}

TEST(PolicyChange, IsKeptWithThePhasesOfThePolicyThatWasSet) {
  PolicyChange before(Spec::parse("sync"));
  before.ask(Spec::parse("switch(async until updates>9 then ssp:s=3)"), kAsker);
  (void)before.switched({Version{3}, 0, "none"});
  MemoryArchive kept;
  before.keep(kept);
  kept.rewind();
  PolicyChange after(Spec::parse("sync"));
  after.keep(kept);
  EXPECT_EQ(after.in_force(), "async");
  EXPECT_FALSE(after.take_asker()) << "its connection ended with the earlier server";
  (void)after.switched({Version{10}, 1, "none"});
  EXPECT_EQ(after.in_force(), "ssp:s=3");
}

}  // namespace
}  // namespace outpace::live
