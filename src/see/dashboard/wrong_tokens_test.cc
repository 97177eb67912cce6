#include "dashboard/wrong_tokens.h"

#include <gtest/gtest.h>

namespace outpace::dashboard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WrongTokens, WhoBroughtOneWaitsTwiceAsLongEachTime) {
  WrongTokens tokens;
  WrongTokens::Moment now{};
  EXPECT_TRUE(tokens.may_try("10.0.0.9", now));
  for (const int wait : {250, 500, 1000, 2000, 4000, 8000, 8000}) {
    (void)tokens.wrong("10.0.0.9", now);
    EXPECT_FALSE(tokens.may_try("10.0.0.9", now + milliseconds(wait - 1))) << wait;
    EXPECT_TRUE(tokens.may_try("10.0.0.9", now + milliseconds(wait))) << wait;
    EXPECT_TRUE(tokens.may_try("10.0.0.8", now)) << "another machine";
    now += milliseconds(wait);
  }
  tokens.right("10.0.0.9");
  (void)tokens.wrong("10.0.0.9", now);
  EXPECT_TRUE(tokens.may_try("10.0.0.9", now + milliseconds(250)));
}

TEST(WrongTokens, TheFirstIsSaidAtOnceAndTheOthersAreCounted) {
  WrongTokens tokens;
  const WrongTokens::Moment begin{};
  EXPECT_EQ(tokens.wrong("10.0.0.9", begin), "the page refused a wrong token from 10.0.0.9");
  for (int i = 1; i < 200; ++i) {
    EXPECT_EQ(tokens.wrong("10.0.0.9", begin + milliseconds(i)), std::nullopt);
  }
  EXPECT_EQ(tokens.wrong("10.0.0.7", begin + seconds(60)),
            "the page refused a wrong token from 10.0.0.7, and 199 more since the last word of it");
}

TEST(WrongTokens, AFloodFromManyAddressesTakesBoundedMemoryAndTime) {
  WrongTokens tokens;
  const WrongTokens::Moment begin{};
  for (int i = 0; i < 6000; ++i) {
    (void)tokens.wrong(std::to_string(i), begin + milliseconds(i));
  }
  EXPECT_TRUE(tokens.may_try("0", begin + milliseconds(6000)));
  EXPECT_FALSE(tokens.may_try("5999", begin + milliseconds(6000)));
}

}  // namespace
}  // namespace outpace::dashboard
