#include "peers/event.h"

#include <gtest/gtest.h>

namespace outpace::peers {
namespace {

TEST(PeerEvent, EachKindHasItsWords) {
  EXPECT_STREQ(to_words(Event::Kind::kFault), "fault");
  EXPECT_STREQ(to_words(Event::Kind::kStands), "stands");
  EXPECT_STREQ(to_words(Event::Kind::kLook), "look");
}

}  // namespace
}  // namespace outpace::peers
