#include "compress/feedback.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/kept_test.h"
#include "base/rng.h"
#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

Floats sent(Feedback& feedback, const Floats& numbers, std::size_t begin = 0) {
  std::vector<std::byte> packed(packed_bytes(feedback.format(), numbers.size()));
  feedback.pack(begin, numbers, packed);
  Floats unpacked(numbers.size());
  unpack(feedback.format(), packed, unpacked);
  return unpacked;
}
Floats left(const Feedback& feedback) {
  return {feedback.left().begin(), feedback.left().end()};
}

// The scale of a block whose largest is 7 is 1, so that int4 sends whole numbers.
TEST(Feedback, WhatAnAcceptedPushLeavesCountsWithTheNext) {
  Feedback feedback(Compression::parse("int4"), 3);
  EXPECT_EQ(sent(feedback, {7, 0.25, -1.5}), (Floats{7, 0, -2}));
  EXPECT_EQ(left(feedback), (Floats{0, 0, 0}));  // No verdict yet.
  feedback.accepted();
  EXPECT_EQ(left(feedback), (Floats{0, 0.25, 0.5}));
  EXPECT_EQ(sent(feedback, {7, 0.375, 1}), (Floats{7, 1, 2}));
  feedback.accepted();
  EXPECT_EQ(left(feedback), (Floats{0, -0.375, -0.5}));
}

TEST(Feedback, WhatAPushThatIsGivenUpLeavesIsForgotten) {
  Feedback feedback(Compression::parse("int4"), 2);
  sent(feedback, {7, 0.25});
  feedback.accepted();
  sent(feedback, {7, 0.5});
  feedback.given_up();
  feedback.accepted();  // There is none to accept.
  EXPECT_EQ(left(feedback), (Floats{0, 0.25}));
}

TEST(Feedback, OnlyItsShareCounts) {
  Feedback feedback(Compression::parse("int4:feedback=0.5"), 2);
  sent(feedback, {7, 0.25});
  feedback.accepted();
  sent(feedback, {7, 0.25});
  feedback.accepted();
  EXPECT_EQ(left(feedback), (Floats{0, 0.375}));
}

TEST(Feedback, NothingIsKeptWithoutFeedback) {
  for (const char* spec : {"int4:feedback=0", "none"}) {
    Feedback feedback(Compression::parse(spec), 2);
    sent(feedback, {7, 0.25});
    feedback.accepted();
    EXPECT_TRUE(feedback.left().empty()) << spec;
    EXPECT_EQ(sent(feedback, {7, 3}), (Floats{7, 3}));
  }
}

TEST(Feedback, PartsAreSettledTogetherAndTheRestStays) {
  Feedback feedback(Compression::parse("int4"), 6);
  sent(feedback, {7, 0.25}, 4);
  sent(feedback, {7, 0.125}, 2);
  feedback.accepted();
  EXPECT_EQ(left(feedback), (Floats{0, 0, 0, 0.125, 0, 0.25}));
  sent(feedback, {7, 0.25}, 0);
  sent(feedback, {7, 0.125}, 4);
  feedback.accepted();
  EXPECT_EQ(left(feedback), (Floats{0, 0.25, 0, 0.125, 0, 0.375}));
}

TEST(Feedback, WhatWasLeftOfAnExceptionStays) {
  Feedback feedback(Compression::parse("int4"), 4);
  sent(feedback, {7, 0.25, 0.125, 0.375});
  feedback.accepted();
  sent(feedback, {7, 0.125, 0.125, 0.0625});
  const std::vector<Feedback::Range> except = {{.begin = 1, .end = 2}, {.begin = 3, .end = 4}};
  feedback.accepted(except);
  EXPECT_EQ(left(feedback), (Floats{0, 0.25, 0.25, 0.375}));
}

// Two pushes of three are accepted, some in parts. Only two sums are rounded for each number of an
// accepted push: x + e, and what is sent of that from it.
TEST(Feedback, WhatWasAcceptedAndWhatIsLeftIsTheSumOfTheAcceptedNumbers) {
  constexpr std::size_t kNumbers = 70;
  constexpr std::uint64_t kSeed = 20261128;
  for (const char* spec : {"bf16", "fp16", "int8", "int4", "topk:0.1,bits=2", "topk:1,bits=8"}) {
    Rng rng(kSeed, 0);
    Feedback feedback(Compression::parse(spec), kNumbers);
    std::vector<double> asked(kNumbers);
    std::vector<double> got(kNumbers);
    std::vector<double> rounding(kNumbers);
    for (int push = 0; push < 10'000; ++push) {
      const double size = std::pow(10.0, -3.0 * rng.uniform());
      Floats numbers(kNumbers);
      for (float& number : numbers) {
        number = static_cast<float>(size * rng.normal());
      }
      const auto middle = rng.below(kNumbers + 1);
      const auto cut = numbers.begin() + static_cast<std::ptrdiff_t>(middle);
      const Floats before = left(feedback);
      const Floats end = sent(feedback, {cut, numbers.end()}, middle);
      Floats all = sent(feedback, {numbers.begin(), cut}, 0);
      all.insert(all.end(), end.begin(), end.end());
      if (rng.below(3) == 0) {
        feedback.given_up();
        ASSERT_EQ(left(feedback), before);
        continue;
      }
      feedback.accepted();
      for (std::size_t i = 0; i < kNumbers; ++i) {
        const double sum = std::abs(double{numbers[i]}) + std::abs(double{before[i]});
        asked[i] += double{numbers[i]};
        got[i] += double{all[i]};
        rounding[i] += 0x1p-24 * (sum + std::abs(double{feedback.left()[i]}));
        ASSERT_NEAR(got[i] + double{feedback.left()[i]}, asked[i], rounding[i] + 1e-10)
            << spec << ", push " << push << ", number " << i << ", seed " << kSeed;
      }
    }
    EXPECT_LT(*std::max_element(rounding.begin(), rounding.end()), 0.01) << spec;
  }
}

TEST(Feedback, NumbersThatAreNotFiniteLeaveTheBlockAsItWas) {
  Feedback feedback(Compression::parse("int4"), 66);
  Floats numbers(66, 0.25F);
  numbers[0] = numbers[64] = 7;
  sent(feedback, numbers);
  feedback.accepted();
  const Floats before = left(feedback);
  numbers[3] = INFINITY;
  const Floats unpacked = sent(feedback, numbers);
  EXPECT_TRUE(std::isnan(unpacked[63]));
  EXPECT_EQ(unpacked[64], 7);
  feedback.accepted();
  EXPECT_EQ(left(feedback)[1], 0.25F);
  EXPECT_EQ(left(feedback)[3], 0.25F);
  EXPECT_EQ(left(feedback)[65], -0.5F + 1.0F);  // The other block goes on: 0.5 is sent as 0.
}

TEST(Feedback, OneThatIsNotFiniteLeavesTheChunkOfTopKAsItWas) {
  Feedback feedback(Compression::parse("topk:share=0.5"), 4);
  sent(feedback, {7, 0.25, 8, 0.5});
  feedback.accepted();
  const Floats before = left(feedback);
  EXPECT_EQ(before[3], 0.5F);
  sent(feedback, {7, NAN, 8, 0.5});
  feedback.accepted();
  EXPECT_EQ(left(feedback), before);
}

TEST(Feedback, OneThatIsNotFiniteStaysAloneWithoutAScale) {
  Feedback feedback(Compression::parse("bf16"), 2);
  sent(feedback, {1 + 0x1p-10F, 1 + 0x1p-10F});
  feedback.accepted();
  sent(feedback, {NAN, 1});
  feedback.accepted();
  EXPECT_EQ(left(feedback), (Floats{0x1p-10F, 0x1p-10F}));
  sent(feedback, {1 + 0x1p-9F, 3.4e38F});  // It becomes infinite.
  feedback.accepted();
  EXPECT_EQ(left(feedback), (Floats{0x1.8p-9F, 0x1p-10F}));
}

TEST(Feedback, ItsStateIsKeptWithoutThePushThatHasNoVerdict) {
  Feedback feedback(Compression::parse("int4"), 2);
  sent(feedback, {7, 0.25});
  feedback.accepted();
  sent(feedback, {7, 0.5});
  Feedback read(Compression::parse("int4"), 2);
  copy_kept(feedback, read);
  EXPECT_EQ(left(read), (Floats{0, 0.25}));
  Feedback larger(Compression::parse("int4"), 3);
  try {
    copy_kept(feedback, larger);
    FAIL() << "another size was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnreadable);
    EXPECT_STREQ(error.what(), "state 'left' has 2 numbers; this worker keeps 3");
  }
}

TEST(FeedbackDeathTest, PartsThatOverlapAreABug) {
  Feedback feedback(Compression::parse("int4"), 4);
  sent(feedback, {7, 1}, 2);
  EXPECT_DEATH(sent(feedback, {7, 1}, 1), "part.end <= other.begin");
}

}  // namespace
}  // namespace outpace::compress
