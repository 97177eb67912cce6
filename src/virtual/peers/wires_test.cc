#include "peers/wires.h"

#include <gtest/gtest.h>

namespace outpace::peers {
namespace {

using std::chrono::milliseconds;

TEST(Wires, KeepTheOrderOfWhatOneWorkerSendsAnother) {
  Wires wires({}, milliseconds(5), 1);
  EXPECT_EQ(wires.pass(Time{}, {0, 1}, milliseconds(100), true).arrival, Time{milliseconds(105)});
  EXPECT_EQ(wires.pass(Time{}, {0, 1}, Duration{}, true).arrival, Time{milliseconds(105)});
  EXPECT_EQ(wires.pass(Time{}, {1, 0}, Duration{}, true).arrival, Time{milliseconds(5)});
}

TEST(Wires, FaultsStrikeInTheirTime) {
  const std::vector<sim::Fault> faults{
      sim::parse_fault("delay:at=1s,for=1s,probability=1,by=50ms", 2),
      sim::parse_fault("lose:at=1s,for=1s,probability=1", 2)};
  Wires wires(faults, milliseconds(1), 1);
  EXPECT_FALSE(wires.pass(Time{}, {0, 1}, Duration{}, true).lost);
  const auto struck = wires.pass(Time{milliseconds(1500)}, {0, 1}, Duration{}, true);
  EXPECT_TRUE(struck.lost);
  EXPECT_EQ(struck.arrival, Time{milliseconds(1551)});
  EXPECT_FALSE(wires.pass(Time{milliseconds(1500)}, {0, 2}, Duration{}, false).lost);
  EXPECT_FALSE(wires.pass(Time{milliseconds(2000)}, {0, 1}, Duration{}, true).lost);
  EXPECT_EQ(wires.delayed(), 2U);
}

}  // namespace
}  // namespace outpace::peers
