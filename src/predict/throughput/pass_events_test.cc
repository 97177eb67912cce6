#include "throughput/pass_events.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace outpace::throughput {
namespace {

TEST(PassEvents, AreLayersThereAndBackAndTheWayToTheServer) {
  const std::vector<PassMarks> passes{
      {.begin = 10.0, .between = {10.001, 10.002, 10.003, 10.005}, .end = 10.006},
      {.begin = 10.008, .between = {}, .end = 10.009}};
  const auto events = nlohmann::json::parse(pass_events(passes));
  ASSERT_EQ(events.size(), 7);
  EXPECT_EQ(events[0]["name"], "iteration 0");
  EXPECT_NEAR(events[0]["ts"].get<double>(), 0.0, 1e-6);
  EXPECT_NEAR(events[0]["dur"].get<double>(), 6000.0, 1e-3);
  EXPECT_EQ(events[1]["name"], "layer 0 forward");
  EXPECT_EQ(events[2]["name"], "layer 1 forward");
  EXPECT_EQ(events[3]["name"], "layer 1 backward");
  EXPECT_EQ(events[4]["name"], "layer 0 backward");
  EXPECT_EQ(events[4]["cat"], "backward");
  EXPECT_NEAR(events[3]["dur"].get<double>(), 2000.0, 1e-3);
  EXPECT_NEAR(events[4]["dur"].get<double>(), 1000.0, 1e-3);
  EXPECT_EQ(events[5]["name"], "push, apply, pull");
  EXPECT_NEAR(events[5]["ts"].get<double>(), 6000.0, 1e-3);
  EXPECT_NEAR(events[5]["dur"].get<double>(), 2000.0, 1e-3);
  EXPECT_EQ(events[6]["name"], "iteration 1");
}

TEST(PassEvents, AreNoneWithoutPasses) {
  EXPECT_EQ(pass_events({}), "[]");
}

}  // namespace
}  // namespace outpace::throughput
