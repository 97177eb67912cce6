#include "job/value_text.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

TEST(ValueText, WritesADurationInTheLargestWholeUnit) {
  using std::chrono::milliseconds;
  EXPECT_EQ(duration_text(Duration{}), "0s");
  EXPECT_EQ(duration_text(std::chrono::seconds(90)), "90s");
  EXPECT_EQ(duration_text(milliseconds(1500)), "1500ms");
  EXPECT_EQ(duration_text(std::chrono::microseconds(7)), "7us");
  EXPECT_EQ(duration_text(Duration{13}), "13ns");
}

TEST(ValueText, WhatIsWrittenIsReadAgain) {
  for (const double number : {0.1, 1e-9, 3.0, 1e6, -0.25, 1.0 / 3.0}) {
    EXPECT_EQ(Value<double>::parse(number_text(number)), number);
  }
  for (const Duration duration : {Duration{}, Duration{1}, Duration{1'500'000}, kDurationMost}) {
    EXPECT_EQ(Value<Duration>::parse(duration_text(duration)), duration);
  }
}

TEST(ValueText, RefusesWhatIsNoValueOfTheType) {
  EXPECT_FALSE(Value<std::uint32_t>::parse("-1"));
  EXPECT_FALSE(Value<std::uint32_t>::parse("4294967296"));
  EXPECT_TRUE(Value<std::uint64_t>::parse("4294967296"));
  EXPECT_FALSE(Value<double>::parse("nan"));
  EXPECT_FALSE(Value<bool>::parse("yes"));
  EXPECT_FALSE(Value<Duration>::parse("87601h"));  // More than ten years.
}

enum class Colour { kRed, kBlue, kGreen };

}  // namespace

template <>
struct Choices<Colour> {
  static constexpr std::array<std::pair<std::string_view, Colour>, 3> kWords{
      {{"red", Colour::kRed}, {"blue", Colour::kBlue}, {"green", Colour::kGreen}}};
};

namespace {

TEST(ValueText, AnEnumerationTakesItsWords) {
  EXPECT_EQ(Value<Colour>::takes(), "red, blue or green");
  EXPECT_EQ(Value<Colour>::parse("blue"), Colour::kBlue);
  EXPECT_EQ(Value<Colour>::text(Colour::kGreen), "green");
  EXPECT_FALSE(Value<Colour>::parse("Red"));
}

}  // namespace
}  // namespace outpace::job
