// What a frame says of a packed payload, in bytes and back, and what it may not say.

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

using compress::Kind;
using compress::WeightsKind;

const Push kPush{.id = {.job = 1,
                        .generation = 1,
                        .worker = WorkerId{0},
                        .incarnation = 1,
                        .sequence = Sequence{1}},
                 .examples = 4,
                 .partial = false,
                 .loss = 0.5,
                 .compute_seconds = 0.5};
const Release kRelease{.sequence = Sequence{1},
                       .version = Version{2},
                       .nominal = 4,
                       .may_keep_part = true,
                       .now = Time{},
                       .ranges = {{.epoch = 0, .begin = 0, .end = 12}}};

Packing int8(std::uint64_t numbers) {
  const compress::Format format{.kind = Kind::kInt8};
  return {.format = format, .bytes = compress::packed_bytes(format, numbers)};
}

std::string why_refused(const Message& message, std::uint64_t numbers, const Packing& packing) {
  try {
    static_cast<void>(decode(encode(message, numbers, packing)));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Packing, ComesBackAsItWasSaid) {
  const compress::Format top{.kind = Kind::kTopK, .kept = 82, .bits = 2};
  const Packing sparse{.format = top, .bytes = compress::packed_bytes(top, 10'000)};
  EXPECT_EQ(decode(encode(kPush, 10'000, sparse)).packing, sparse);
  const Packing delta{.weights = WeightsKind::kDelta, .bytes = 6, .check = 0xfedcba98};
  EXPECT_EQ(decode(encode(kRelease, 100, delta)).packing, delta);
  EXPECT_EQ(decode(encode(kPush, 100)).packing, std::nullopt);
}

TEST(Packing, IsOfTheSizeThatItsFormatHas) {
  Packing wrong = int8(100);
  ++wrong.bytes;
  EXPECT_EQ(why_refused(kPush, 100, wrong),
            "packing.bytes must be 104 for 100 numbers, and are 105");
  const Packing vast{.weights = WeightsKind::kBf16, .bytes = 1'000};
  EXPECT_EQ(why_refused(kRelease, 100, vast),
            "packing.bytes must be at least 1, and at most 200 for 100 numbers");
}

TEST(Packing, IsOfAKnownFormat) {
  Packing none = int8(100);
  none.format.kind = Kind::kNone;
  EXPECT_EQ(why_refused(kPush, 100, none), "packing.format is not one that we know");
  Packing strange = int8(100);
  strange.format.kind = static_cast<Kind>(9);
  EXPECT_NE(why_refused(kPush, 100, strange), "accepted");
  Packing top = int8(100);
  top.format = {.kind = Kind::kTopK, .kept = 5'000, .bits = 2};
  EXPECT_NE(why_refused(kPush, 100, top), "accepted");
  const Packing weights{.weights = static_cast<WeightsKind>(9), .bytes = 4};
  EXPECT_EQ(why_refused(kRelease, 100, weights), "packing.weights is not one that we know");
}

TEST(Packing, IsOfNumbersThatMayBePacked) {
  EXPECT_EQ(why_refused(Snapshot{Version{1}}, 100, int8(100)),
            "packing is of a message whose numbers are not packed");
  EXPECT_EQ(why_refused(kPush, 0, int8(100)), "packing is of a payload without numbers");
  EXPECT_EQ(why_refused(kRelease, 100, int8(100)), "packing.weights is not one that we know")
      << "a gradient's format";
}

}  // namespace
}  // namespace outpace::protocol
