// A worker that hands in one gradient for several of its machine.

#include <gtest/gtest.h>
#include <outpace.pb.h>

#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

std::string why_malformed(const std::string& frame) {
  try {
    (void)decode(frame);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Hello reducers_hello() {
  return {.host = "here",
          .dataset_examples = 8,
          .manifest = {.tensors = {{.name = "w", .shape = {1}}}}};
}
Push reducers_push() {
  return {.id = {.job = 1, .generation = 1, .worker = WorkerId{0}, .incarnation = 1},
          .examples = 5,
          .partial = true,
          .compute_seconds = 0.5};
}

TEST(CodecStandIn, AHelloSaysHowManyItStandsFor) {
  EXPECT_EQ(std::get<Hello>(decode(encode(reducers_hello(), 0)).message).stands_for, 1U);
  Hello hello = reducers_hello();
  hello.stands_for = kStandsForMax;
  EXPECT_EQ(std::get<Hello>(decode(encode(hello, 0)).message), hello);
  ++hello.stands_for;
  EXPECT_EQ(why_malformed(encode(hello, 0)), "hello.stands_for must be at most 4096");
}

TEST(CodecStandIn, APushSaysWhichExamplesItIsOf) {
  EXPECT_TRUE(std::get<Push>(decode(encode(reducers_push(), 0)).message).covers.empty());
  Push push = reducers_push();
  push.covers = {{.epoch = 3, .begin = 5, .end = 9}, {.epoch = 4, .begin = 0, .end = 1}};
  push.stands_for = 7;
  EXPECT_EQ(std::get<Push>(decode(encode(push, 0)).message), push);
  push.covers[1].end = 0;
  EXPECT_EQ(why_malformed(encode(push, 0)), "push.covers hold one that is empty");
  push.covers.clear();
  push.stands_for = kStandsForMax + 1;
  EXPECT_EQ(why_malformed(encode(push, 0)), "push.stands_for must be at most 4096");

  pb::Frame frame;
  frame.mutable_push()->mutable_id();
  frame.mutable_push()->set_examples(1);
  frame.mutable_push()->add_covers(1);
  EXPECT_EQ(why_malformed(frame.SerializeAsString()), "push.covers must be triples");
}

}  // namespace
}  // namespace outpace::protocol
