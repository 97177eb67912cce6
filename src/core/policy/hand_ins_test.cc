#include "policy/hand_ins.h"

#include <algorithm>
#include <variant>

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

CheckedDriver handing_in(const std::string& spec, std::uint32_t workers) {
  return CheckedDriver(make_policy(Spec::parse(spec), workers, {.hand_ins = true}));
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
  EXPECT_TRUE(make_policy(Spec::parse("sync"), 2, {.hand_ins = true})->asks_for_parts());
  EXPECT_FALSE(make_policy(Spec::parse("sync"), 2)->asks_for_parts());
}

}  // namespace
}  // namespace outpace::policy
