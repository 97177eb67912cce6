#include "policy/draw.h"

#include <set>

#include <gtest/gtest.h>

#include "policy/catalogue.h"

namespace outpace::policy {
namespace {

TEST(Draw, ReachesBothEndsOfACount) {
  Rng rng(1, 0);
  std::set<std::string> cutoffs;
  for (int i = 0; i < 200; ++i) {
    cutoffs.insert(draws::cutoff(rng, 3));
  }
  EXPECT_EQ(cutoffs, (std::set<std::string>{"cutoff=1", "cutoff=2", "cutoff=3"}));
}

TEST(Draw, LeavesTheBoundOfSapsToItsDefaultNowAndThen) {
  Rng rng(1, 0);
  std::set<std::string> found;
  for (int i = 0; i < 400; ++i) {
    found.insert(draws::saps(rng, 1));
  }
  for (const char* options :
       {"s=1,action=refresh", "s=2,action=preempt", "s=2.5x,action=shrink", "action=dampen"}) {
    EXPECT_TRUE(found.contains(options)) << options;
  }
}

TEST(Draw, IsOfEveryPolicyButThoseThatChangeToOthers) {
  Rng rng(1, 0);
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    names.insert(Spec::parse(draw_phase(rng, 6)).name);
  }
  EXPECT_EQ(names.size(), catalogue().size() - 2);
  EXPECT_FALSE(names.contains("switch") || names.contains("auto"));
}

}  // namespace
}  // namespace outpace::policy
