#include "job/policy_list.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

using Policies = std::vector<std::string>;

TEST(PolicyList, SplitsAtCommasThatBeginAPolicy) {
  EXPECT_EQ(split_policies({"sync,async"}), (Policies{"sync", "async"}));
  EXPECT_EQ(split_policies({"sync,ssp:s=3,dynamic:min=2,max=8"}),
            (Policies{"sync", "ssp:s=3", "dynamic:min=2,max=8"}));
  EXPECT_EQ(split_policies({"dynamic:min=2,max=8", "sync"}),
            (Policies{"dynamic:min=2,max=8", "sync"}));
}

TEST(PolicyList, TakesAMisspeltNameForAPolicyOfItsOwn) {
  EXPECT_EQ(split_policies({"sync,asynk"}), (Policies{"sync", "asynk"}));
}

TEST(PolicyList, ReplacesAShareOfTheWorkers) {
  EXPECT_EQ(policy_for("backup:cutoff=90%", 16), "backup:cutoff=14");
  EXPECT_EQ(policy_for("backup:cutoff=90%", 10), "backup:cutoff=9");
  EXPECT_EQ(policy_for("backup:cutoff=1%", 4), "backup:cutoff=1");
  EXPECT_EQ(policy_for("dynamic:min=50%,max=100%", 8), "dynamic:min=4,max=8");
  EXPECT_EQ(policy_for("sync", 8), "sync");
}

TEST(PolicyList, LeavesASignWithoutANumberForTheParser) {
  EXPECT_EQ(policy_for("backup:cutoff=x%", 8), "backup:cutoff=x%");
  EXPECT_EQ(policy_for("%", 8), "%");
}

}  // namespace
}  // namespace outpace::job
