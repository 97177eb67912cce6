#include "admission/awaited.h"

#include <gtest/gtest.h>

namespace outpace::admission {
namespace {

using std::chrono::seconds;

Time at(int second) {
  return Time{seconds(1000 + second)};
}

TEST(Awaited, SaysWhatIsMissingAndTheSameAgainOnlyAfterAWhile) {
  Awaited awaited;
  awaited.begin(at(0));
  const Missing missing{.there = 0, .workers = 2, .weights = true};
  EXPECT_EQ(awaited.say(at(1), missing), "") << "they are coming";
  EXPECT_EQ(awaited.next(), at(2));
  EXPECT_EQ(awaited.say(at(2), missing), "the run has not begun: 0 of 2 workers are there");
  EXPECT_EQ(awaited.say(at(4), missing), "");
  EXPECT_EQ(awaited.say(at(12), missing), "the run has not begun: 0 of 2 workers are there");
}

TEST(Awaited, SaysWhatHasChangedAtOnce) {
  Awaited awaited;
  awaited.begin(at(0));
  EXPECT_NE(awaited.say(at(2), {.there = 0, .workers = 1, .weights = true}), "");
  EXPECT_EQ(awaited.say(at(4), {.there = 1, .workers = 1, .weights = true, .evaluator = true}),
            "the run has not begun: 1 of 1 worker is there, and the first weights are not; it "
            "waits for the evaluator");
}

}  // namespace
}  // namespace outpace::admission
