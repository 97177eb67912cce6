#include "peer/elastic.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

TEST(Elastic, TheHolderMeetsTheCentreInItsOwnMemory) {
  Elastic holder(kCentre);
  EXPECT_EQ(holder.begin({}, {}),
            (Actions{Average{How::kCentreHere, kCentre, /*own=*/true, /*over=*/true}}));
  EXPECT_FALSE(holder.seeks());
}

TEST(Elastic, TheCentreMovesBeforeItIsSent) {
  Elastic holder(kCentre);
  EXPECT_EQ(holder.knock({2, Say::kToCentre}), (Actions{Await{2, Say::kToCentre}}));
  EXPECT_EQ(holder.knock({1, Say::kToCentre}), Actions{});
  EXPECT_EQ(holder.came({2, Say::kToCentre}),
            (Actions{Average{How::kCentre, 2}, Send{2, Say::kOfCentre}, Await{1, Say::kToCentre}}));
  Elastic visits(2);
  EXPECT_EQ(visits.begin({}, {}),
            (Actions{Send{kCentre, Say::kToCentre}, Await{kCentre, Say::kOfCentre}}));
  EXPECT_EQ(visits.came({kCentre, Say::kOfCentre}),
            (Actions{Average{How::kWithCentre, kCentre, /*own=*/true, /*over=*/true}}));
}

}  // namespace
}  // namespace outpace::peer
