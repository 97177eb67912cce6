#include "protocol/message_writer.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outpace::protocol {
namespace {

using testing::ElementsAre;

// codec_test.cc reads back what is written; here is what the bytes of others must hold.
TEST(MessageWriter, TellsTheRangesOfLaterReleasesByRelease) {
  pb::Frame frame;
  write(
      Release{.sequence = Sequence{3},
              .version = Version{2},
              .nominal = 4,
              .may_keep_part = false,
              .now = Time{},
              .ranges = {{.epoch = 1, .begin = 0, .end = 4}},
              .ahead = {{{.epoch = 1, .begin = 4, .end = 8}},
                        {{.epoch = 1, .begin = 8, .end = 9}, {.epoch = 2, .begin = 0, .end = 3}}}},
      frame);
  EXPECT_THAT(frame.release().ranges(), ElementsAre(1, 0, 4));
  EXPECT_THAT(frame.release().ahead(), ElementsAre(0, 1, 4, 8, 1, 1, 8, 9, 1, 2, 0, 3));
}

TEST(MessageWriter, WritesOutcomesFromOne) {
  pb::Frame frame;
  write(Verdict{.sequence = Sequence{3}, .outcome = Outcome::kAccepted}, frame);
  EXPECT_EQ(static_cast<int>(frame.verdict().outcome()), 1);
}

}  // namespace
}  // namespace outpace::protocol
