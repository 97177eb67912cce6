#include "watch/worker_view.h"

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

TEST(WorkerView, IsKnownOnlyToTakeLongerWithMoreCutsThanWholeRuntimesAtFirst) {
  WorkerView one;
  EXPECT_FALSE(one.longer());
  one.whole.add(0.4);
  one.cut.add(0.1);
  EXPECT_FALSE(one.longer());
  one.cut.add(0.1);
  EXPECT_TRUE(one.longer());
  EXPECT_EQ(one.sample(), (std::vector<float>{0.1F, 0.1F}));
}

TEST(WorkerView, IsSoLaterIfItIsCutOffTimeAndAgainThoughItWasFaster) {
  WorkerView one;
  for (int i = 0; i < 3; ++i) {
    one.whole.add(0.2);
    one.cut.add(0.3);
  }
  EXPECT_FALSE(one.longer()) << "not in a row";
  one.cut_in_a_row = 3;
  EXPECT_TRUE(one.longer());
  for (int i = 0; i < 20; ++i) {
    one.whole.add(0.4);
  }
  EXPECT_FALSE(one.longer()) << "what it took before explains that it is cut off at 0.3";
  EXPECT_EQ(one.sample().size(), 20U);
}

TEST(Recent, KeepsTheNewest) {
  Recent recent;
  for (int i = 0; i < 25; ++i) {
    recent.add(i);
  }
  EXPECT_EQ(recent.size(), 20U);
  EXPECT_EQ(recent.all().front(), 20.0F);
  EXPECT_EQ(median(recent.all()), 15.0);
}

}  // namespace
}  // namespace outpace::watch
