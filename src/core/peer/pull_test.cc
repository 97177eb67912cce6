#include "peer/pull.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

TEST(Pull, TheNextVisitBeginsOnceTheWeightsHaveCome) {
  Pull visited;
  EXPECT_EQ(visited.knock({1, Say::kRequest}),
            (Actions{Send{1, Say::kReply}, Await{1, Say::kCame}}));
  EXPECT_EQ(visited.knock({2, Say::kRequest}), Actions{});
  EXPECT_EQ(visited.came({1, Say::kCame}), (Actions{Send{2, Say::kReply}, Await{2, Say::kCame}}));
  EXPECT_EQ(visited.came({2, Say::kCame}), Actions{});
}

TEST(Pull, TheVisitorAloneMoves) {
  Pull visits;
  EXPECT_EQ(visits.begin({}, [] { return 5U; }),
            (Actions{Send{5, Say::kRequest}, Await{5, Say::kReply}}));
  EXPECT_EQ(visits.came({5, Say::kReply}),
            (Actions{Send{5, Say::kCame}, Average{How::kTowards, 5, /*own=*/true, /*over=*/true}}));
  EXPECT_FALSE(visits.seeks());
}

}  // namespace
}  // namespace outpace::peer
