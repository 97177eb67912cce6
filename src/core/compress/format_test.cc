#include "compress/format.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::compress {
namespace {

TEST(Format, SizesFollowFromTheNumbers) {
  EXPECT_EQ(packed_bytes({}, 5), 20U);
  EXPECT_EQ(packed_bytes({.kind = Kind::kBf16}, 5), 10U);
  EXPECT_EQ(packed_bytes({.kind = Kind::kFp16}, 5), 10U);
  EXPECT_EQ(packed_bytes({.kind = Kind::kInt8}, 64), 66U);
  EXPECT_EQ(packed_bytes({.kind = Kind::kInt8}, 65), 69U);
  EXPECT_EQ(packed_bytes({.kind = Kind::kInt4}, 64), 34U);
  EXPECT_EQ(packed_bytes({.kind = Kind::kInt4}, 67), 38U);
  const Format top{.kind = Kind::kTopK, .kept = 41, .bits = 2};
  EXPECT_EQ(packed_bytes(top, 4096), 2U + 62U + 11U);
  EXPECT_EQ(packed_bytes(top, 4097), 75U + 2U + 2U + 1U);
  for (const Kind kind : {Kind::kNone, Kind::kBf16, Kind::kFp16, Kind::kInt8, Kind::kInt4}) {
    EXPECT_EQ(packed_bytes({.kind = kind}, 0), 0U);
  }
  EXPECT_EQ(packed_bytes(top, 0), 0U);
}

TEST(Format, AShortChunkKeepsItsShareRoundedUp) {
  const Format top{.kind = Kind::kTopK, .kept = 41, .bits = 2};
  EXPECT_EQ(kept_of(top, 1), 1U);
  EXPECT_EQ(kept_of(top, 99), 1U);
  EXPECT_EQ(kept_of(top, 100), 2U);
  EXPECT_EQ(kept_of(top, 4096), 41U);
}

TEST(Format, APeersFormatIsChecked) {
  EXPECT_EQ(why_not({}), "");
  EXPECT_EQ(why_not({.kind = Kind::kTopK, .kept = 4096, .bits = 4}), "");
  EXPECT_EQ(why_not({.kind = static_cast<Kind>(6)}), "format 6 is unknown");
  EXPECT_EQ(why_not({.kind = Kind::kInt8, .bits = 2}), "int8 takes neither 'kept' nor 'bits'");
  EXPECT_EQ(why_not({.kind = Kind::kTopK, .kept = 0, .bits = 2}),
            "topk keeps 0 of each 4096 numbers; it may keep 1 to 4096");
  EXPECT_EQ(why_not({.kind = Kind::kTopK, .kept = 4097, .bits = 2}),
            "topk keeps 4097 of each 4096 numbers; it may keep 1 to 4096");
  EXPECT_EQ(why_not({.kind = Kind::kTopK, .kept = 1, .bits = 3}),
            "topk has values of 3 bits; they take 2, 4 or 8");
}

TEST(Compression, ASpecIsReadAndWritten) {
  struct Row {
    const char* spec;
    Compression compression;
    const char* name;
  };
  const std::vector<Row> rows = {
      {"none", {}, "none"},
      {"bf16", {.format = {.kind = Kind::kBf16}}, "bf16"},
      {"fp16:feedback=1", {.format = {.kind = Kind::kFp16}}, "fp16"},
      {"int8", {.format = {.kind = Kind::kInt8}}, "int8"},
      {"int4:feedback=0", {.format = {.kind = Kind::kInt4}, .feedback = 0.0}, "int4:feedback=0"},
      {"int4:0.95", {.format = {.kind = Kind::kInt4}, .feedback = 0.95}, "int4:feedback=0.95"},
      {"topk", {.format = {.kind = Kind::kTopK, .kept = 41, .bits = 8}}, "topk:share=0.01,bits=8"},
      {"topk:share=0.02,bits=2,feedback=0.95",
       {.format = {.kind = Kind::kTopK, .kept = 82, .bits = 2}, .feedback = 0.95},
       "topk:share=0.02,bits=2,feedback=0.95"},
      {"topk:1,bits=4",
       {.format = {.kind = Kind::kTopK, .kept = 4096, .bits = 4}},
       "topk:share=1,bits=4"},
      {"topk:share=0.00001",
       {.format = {.kind = Kind::kTopK, .kept = 1, .bits = 8}},
       "topk:share=0.0002,bits=8"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Compression::parse(row.spec), row.compression) << row.spec;
    EXPECT_EQ(row.compression.name(), row.name);
    EXPECT_EQ(Compression::parse(row.name), row.compression) << row.name;
  }
  for (std::uint32_t kept = 1; kept <= kChunk; ++kept) {
    const Compression one{.format = {.kind = Kind::kTopK, .kept = kept, .bits = 8}};
    ASSERT_EQ(Compression::parse(one.name()), one) << one.name();
  }
}

TEST(Compression, AnythingElseIsRefused) {
  const auto refusal = [](const char* spec) {
    return refusal_of([spec] { static_cast<void>(Compression::parse(spec)); });
  };
  EXPECT_EQ(refusal("int9"), "unknown compression 'int9'; did you mean 'int8'?");
  EXPECT_EQ(refusal("none:feedback=1"), "compression 'none:feedback=1': 'none' takes no options");
  EXPECT_EQ(refusal("int8:feedback=1.5"),
            "compression 'int8:feedback=1.5': feedback is '1.5'; it takes a number from 0 to 1");
  EXPECT_EQ(refusal("topk:share=0"),
            "compression 'topk:share=0': share is '0'; it takes a number from 1e-06 to 1");
  EXPECT_EQ(refusal("topk:bits=3"), "compression 'topk:bits=3': bits is '3'; it takes 2|4|8");
  EXPECT_EQ(refusal("int8:bits=2"),
            "compression 'int8:bits=2': unknown option 'bits'; known: feedback");
}

}  // namespace
}  // namespace outpace::compress
