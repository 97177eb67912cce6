#include "peer/push.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

TEST(Push, OneVisitorsWeightsAreTakenInAtATime) {
  Push visited;
  EXPECT_EQ(visited.knock({1, Say::kPushed}), (Actions{Await{1, Say::kPushed}}));
  EXPECT_EQ(visited.knock({2, Say::kPushed}), Actions{});
  EXPECT_EQ(visited.came({1, Say::kPushed}),
            (Actions{Average{How::kKeep, 1}, Send{1, Say::kCame}, Await{2, Say::kPushed}}));
}

TEST(Push, TheVisitIsOverOnceTheOtherHasTheWeights) {
  Push visits;
  EXPECT_EQ(visits.begin({}, [] { return 5U; }),
            (Actions{Send{5, Say::kPushed}, Await{5, Say::kCame}}));
  EXPECT_EQ(visits.came({5, Say::kCame}),
            (Actions{Average{How::kNothing, 5, /*own=*/true, /*over=*/true}}));
}

}  // namespace
}  // namespace outpace::peer
