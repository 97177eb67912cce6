#include "policy/hand_ins.h"

#include <algorithm>
#include <variant>

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

CheckedDriver handing_in(const std::string& spec, std::uint32_t workers) {
  return CheckedDriver(make_policy(Spec::parse(spec), workers, {.local_steps = 10}));
}

std::size_t cancels(const Decision& decision, bool keep_part) {
  return static_cast<std::size_t>(
      std::count_if(decision.actions.begin(), decision.actions.end(), [&](const Action& action) {
        const auto* cancel = std::get_if<Cancel>(&action);
        return cancel != nullptr && cancel->keep_part == keep_part;
      }));
}

// Three workers take a second, the fourth ten; nothing that it did is lost.
TEST(HandIns, TheDynamicCutoffTakesUpWhatASlowWorkerHasDone) {
  CheckedDriver driver = handing_in("dynamic", 4);
  driver.join_all(4);
  Time now{};
  std::size_t parts = 0;
  for (int update = 0; update < 40; ++update) {
    const Time begun = now;
    now += std::chrono::seconds(1);
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      driver.arrive(worker, {.examples = 320, .nominal = 320}, now);
    }
    const Decision* decision = &driver.pass(TimerFired{}, now);
    if (cancels(*decision, /*keep_part=*/true) == 0) {  // All are waited for.
      now = begun + std::chrono::seconds(10);
      driver.arrive(3, {.examples = 320, .nominal = 320}, now);
      continue;
    }
    now += std::chrono::milliseconds(50);
    decision = &driver.arrive(3, {.examples = 32, .nominal = 320, .partial = true}, now);
    EXPECT_TRUE(std::holds_alternative<Accept>(decision->actions.front()));
    ++parts;
  }
  EXPECT_GE(parts, 25U);
}

// Two workers take a second, the third four, and its part comes when nobody waits for it any more.
// It tells its pace all the same: nobody expects it as fast as its part came.
TEST(HandIns, APartThatComesLateTellsThePace) {
  CheckedDriver driver = handing_in("dynamic:model=last", 3);
  driver.join_all(3);
  Time now{};
  for (int update = 0; update < 6; ++update) {
    now += std::chrono::seconds(1);
    driver.arrive(0, {.examples = 320, .nominal = 320}, now);
    driver.arrive(1, {.examples = 320, .nominal = 320}, now);
    ASSERT_EQ(cancels(driver.pass(TimerFired{}, now), /*keep_part=*/true), 1U) << update;
    now += std::chrono::seconds(1);  // The last moment of its patience.
    driver.pass(TimerFired{}, now);
    driver.arrive(2, {.examples = 160, .nominal = 320, .partial = true}, now);
  }
  Outlook outlook;
  ASSERT_TRUE(driver.policy().outlook(outlook));
  EXPECT_GT(outlook.bands.at(2).median, 3.0);
}

// A server that goes on with a run after 1,000 s.
TEST(HandIns, WaitsForPartsByTheUpdateAndNotByTheAgeOfTheRun) {
  CheckedDriver driver = handing_in("backup:cutoff=1", 2);
  driver.join(0, at(1000));
  driver.join(1, at(1000));
  const Decision& decision = driver.arrive(0, {}, at(1001));
  EXPECT_EQ(cancels(decision, /*keep_part=*/true), 1U);
  EXPECT_EQ(std::get<WakeAt>(decision.actions.back()).time, at(1002));
}

TEST(HandIns, TheSecondsOfASwitchAreTheRuns) {
  CheckedDriver driver = handing_in("switch(backup:cutoff=1 until seconds>10 then async)", 2);
  driver.join_all(2);
  bool switched = false;
  for (int i = 0; i < 20 && !switched; ++i) {  // Each update waits half a second for its part.
    driver.arrive(0, {}, at(i + 0.5));
    const Decision& decision = driver.arrive(1, {.examples = 8, .partial = true}, at(i + 1));
    switched = std::any_of(decision.actions.begin(), decision.actions.end(), [](const Action& one) {
      return std::holds_alternative<Switched>(one);
    });
    EXPECT_EQ(switched, i + 1 > 10) << i;
  }
  EXPECT_TRUE(switched);
}

// Under an asynchronous policy a cancellation is the policy's own.
TEST(HandIns, LeavesAloneWhatIsNoCutoff) {
  CheckedDriver plain("saps:s=1,action=preempt", 3);
  CheckedDriver driver = handing_in("saps:s=1,action=preempt", 3);
  for (CheckedDriver* one : {&plain, &driver}) {
    one->join_all(3);
  }
  for (int i = 1; i < 20; ++i) {
    const Decision expected = plain.arrive(0, {}, at(i));
    EXPECT_EQ(cancels(driver.arrive(0, {}, at(i)), false), cancels(expected, false));
    EXPECT_EQ(plain.computes(0), driver.computes(0));
  }
}

TEST(HandIns, AsksWorkersToComputeInParts) {
  EXPECT_TRUE(make_policy(Spec::parse("sync"), 2, {.local_steps = 10})->asks_for_parts());
  EXPECT_FALSE(make_policy(Spec::parse("sync"), 2)->asks_for_parts());
}

}  // namespace
}  // namespace outpace::policy
