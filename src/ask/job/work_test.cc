#include "job/work.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

std::string two_columns(const std::string& option, const std::string& path) {
  EXPECT_EQ(option, "delays");
  EXPECT_EQ(path, "t.csv");
  return "0.1,0.4\n0.1,0.4\n";
}

TEST(Work, FactorsThatNameAWorkerMultiply) {
  Delays delays{.slow = {"worker=1,factor=2", "worker=1,factor=3"}};
  EXPECT_EQ(slow_factor(delays, 0, 2), 1.0);
  EXPECT_EQ(slow_factor(delays, 1, 2), 6.0);
}

TEST(Work, EachWorkerHasItsColumnOfTheTrace) {
  const Delays delays{.file = "t.csv"};
  const std::vector<worker::Pace> paces = paces_of(delays, 2, two_columns);
  ASSERT_EQ(paces.size(), 2);
  // A pace ends at most a nanosecond late, never early.
  EXPECT_NEAR(to_seconds(paces[0].finish(Time{}, 1.0, 0)), 0.1, 2e-9);
  EXPECT_NEAR(to_seconds(paces[1].finish(Time{}, 1.0, 0)), 0.4, 2e-9);
}

TEST(Work, AWorkerThatWaitsLongerIsNotSlowedTwice) {
  const Work waits{.paced = "p.json", .delays = {.slow = {"worker=0,factor=4"}}};
  EXPECT_TRUE(waits_longer(waits));
  EXPECT_EQ(make_pace(waits, 0, 1, two_columns).extra_seconds(1.0), 0.0);
  const Work computes{.delays = {.slow = {"worker=0,factor=4"}}};
  EXPECT_FALSE(waits_longer(computes));
  EXPECT_EQ(make_pace(computes, 0, 1, two_columns).extra_seconds(1.0), 3.0);
}

TEST(Work, ASliceHasASizeWithItsUnitOrIsZero) {
  const auto bytes = [](const char* text) {
    const auto size = Value<SliceSize>::parse(text);
    return size ? std::optional(size->bytes) : std::nullopt;
  };
  EXPECT_EQ(bytes("0"), 0U);
  EXPECT_EQ(bytes("1MiB"), 1U << 20U);
  EXPECT_EQ(bytes("400kB"), 400'000U);
  EXPECT_EQ(bytes(Value<SliceSize>::text(SliceSize{}).c_str()), SliceSize{}.bytes);
  EXPECT_EQ(bytes("1"), std::nullopt);
  EXPECT_EQ(bytes("-1MiB"), std::nullopt);
  EXPECT_EQ(bytes("17GiB"), std::nullopt);
  EXPECT_EQ(bytes("large"), std::nullopt);
}

TEST(Work, RefusesAPeriodOfZeroAndAWrongAttack) {
  Declared<Work> work;
  work.give("delays-period", "0s");
  EXPECT_NE(refusal_of([&] { check(work.job, 2, two_columns); }).find("--delays-period is 0s"),
            std::string::npos);
  Declared<Work> attacked;
  attacked.give("attack", "zero:workers=2");
  EXPECT_NE(refusal_of([&] { check(attacked.job, 2, two_columns); }), "accepted");
  EXPECT_EQ(refusal_of([&] { check(attacked.job, 3, two_columns); }), "accepted");
}

}  // namespace
}  // namespace outpace::job
