#include "invariants/state.h"

#include <array>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "invariants/violation.h"
#include "policy/catalogue.h"

namespace outpace::invariants {
namespace {

std::string broken_by(State& state,
                      const server::Coordinator& coordinator,
                      std::span<const float> weights) {
  try {
    state.check(coordinator, weights);
  } catch (const Violation& violation) {
    return violation.invariant();
  }
  return "";
}

class StateTest : public testing::Test {
 protected:
  StateTest() {
    EXPECT_TRUE(
        coordinator_.join(Time{}, {.worker = WorkerId{0}, .incarnation = 1, .host = ""}, effects_));
  }

  // The lone worker's next gradient, which is an update.
  void update() {
    ++sequence_;
    coordinator_.push(Time{},
                      {.id = {.job = 1,
                              .generation = 1,
                              .worker = WorkerId{0},
                              .incarnation = 1,
                              .sequence = Sequence{sequence_}},
                       .examples = 4,
                       .partial = false,
                       .loss = 1.0,
                       .compute_seconds = 0.0},
                      update::Judgement::kSound,
                      effects_);
  }

  server::Effects effects_;
  server::Coordinator coordinator_{{.workers = 1, .batch = 4, .examples = 8},
                                   policy::make_policy(Spec::parse("async"), 1),
                                   nullptr,
                                   Time{}};
  std::uint64_t sequence_ = 0;
};

TEST_F(StateTest, MayMoveTheWeightsWithAnUpdateAlone) {
  State state;
  EXPECT_EQ(broken_by(state, coordinator_, std::array{1.0F}), "");
  update();
  EXPECT_EQ(broken_by(state, coordinator_, std::array{2.0F}), "");
  EXPECT_EQ(broken_by(state, coordinator_, std::array{2.0F}), "");
  EXPECT_EQ(broken_by(state, coordinator_, std::array{2.5F}), "I12");
}

TEST_F(StateTest, MustBeOfFiniteWeights) {
  State state;
  EXPECT_EQ(broken_by(state, coordinator_, std::array{std::numeric_limits<float>::infinity()}),
            "I17");
}

TEST_F(StateTest, NeverGoesBackToAnOlderVersion) {
  const server::Coordinator newcomer({.workers = 1, .batch = 4, .examples = 8},
                                     policy::make_policy(Spec::parse("async"), 1),
                                     nullptr,
                                     Time{});
  State state;
  update();
  EXPECT_EQ(broken_by(state, coordinator_, {}), "");
  EXPECT_EQ(broken_by(state, newcomer, {}), "I10") << "version 0 after version 1";
}

}  // namespace
}  // namespace outpace::invariants
