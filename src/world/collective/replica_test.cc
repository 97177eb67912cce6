#include "collective/replica.h"

#include <chrono>
#include <deque>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "worker/neighbour.h"

namespace outpace::collective {
namespace {

using std::chrono::milliseconds;

void subtract_one(std::vector<float>& weights) {
  for (float& weight : weights) {
    weight -= 1.0F;
  }
}

TEST(Replica, AWantedMeetingIsBegunOnceAndIsOverOnce) {
  Replica replica({1.0F});
  EXPECT_TRUE(replica.met_within(milliseconds(0)));
  replica.begin_gradient();
  EXPECT_FALSE(replica.met_within(milliseconds(0)));
  const auto meeting = replica.begin_meeting();
  ASSERT_TRUE(meeting.has_value());
  EXPECT_EQ(meeting->invited_by, std::nullopt);
  EXPECT_FALSE(replica.met_within(milliseconds(0)));  // Begun is not over.
  replica.meet_halfway(std::vector{1.0F}, std::vector{4.0F}, true);
  EXPECT_TRUE(replica.met_within(milliseconds(0)));
  EXPECT_EQ(replica.weights(), std::vector{2.5F});
  EXPECT_EQ(replica.meetings(), 1);
}

// The algorithm's x <- (x + y) / 2 - rate * gradient, in this order.
TEST(Replica, AMeetingOfAnotherWorkersGradientIsNotThisWorkers) {
  Replica replica({1.0F});
  replica.begin_gradient();
  ASSERT_EQ(replica.begin_meeting()->invited_by, std::nullopt);
  replica.invited(3);
  EXPECT_EQ(replica.begin_meeting()->invited_by, 3);
  replica.meet_halfway(std::vector{1.0F}, std::vector{3.0F}, false);
  EXPECT_FALSE(replica.met_within(milliseconds(0)));
  replica.meet_halfway(std::vector{2.0F}, std::vector{6.0F}, false);
  EXPECT_FALSE(replica.met_within(milliseconds(0)));
  replica.pulled(std::vector{8.0F});
  EXPECT_TRUE(replica.met_within(milliseconds(0)));
  replica.step(subtract_one);
  EXPECT_EQ(replica.weights(), std::vector{5.0F});
  EXPECT_EQ(replica.meetings(), 1);
}

TEST(Replica, AMeetingThatAGroupBrokeTakesPlaceInTheNext) {
  Replica replica({1.0F});
  replica.connected();
  replica.begin_gradient();
  ASSERT_TRUE(replica.begin_meeting().has_value());
  replica.invited(2);
  replica.leave_group();
  EXPECT_FALSE(replica.begin_meeting().has_value());
  replica.disconnected();
  EXPECT_FALSE(replica.met_within(milliseconds(0)));
  replica.connected();
  const auto again = replica.begin_meeting();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->invited_by, std::nullopt);  // The invitation was to the last group.
  EXPECT_EQ(replica.meetings(), 0);
}

TEST(Replica, AtTheEndOnlyOthersMeetingsBegin) {
  Replica replica({1.0F});
  replica.connected();
  replica.begin_gradient();
  replica.end_meetings();  // Does not wait: the meeting has not begun.
  replica.invited(1);
  EXPECT_EQ(replica.begin_meeting()->invited_by, 1);
}

// Jin et al. 2016: the mean of the own weights and all that came, and then the gradient.
TEST(Replica, WhatWasPushedIsAveragedAtTheNextStep) {
  Replica replica({1.0F});
  replica.push_in(std::vector{3.0F});
  replica.push_in(std::vector{8.0F});
  EXPECT_EQ(replica.weights(), std::vector{1.0F});
  replica.step(subtract_one);
  EXPECT_EQ(replica.weights(), std::vector{3.0F});
  replica.step(subtract_one);  // Each counts once.
  EXPECT_EQ(replica.weights(), std::vector{2.0F});
}

// ---- Beside a twin that knows nothing but the papers' formulas, on one number a worker ----

class ReplicaTwin : public testing::Test {
 protected:
  static constexpr std::uint32_t kSize = 6;
  static constexpr int kEvents = 300;

  ReplicaTwin() {
    for (std::uint32_t i = 0; i < kSize; ++i) {
      replicas_.emplace_back(std::vector{static_cast<float>(i)});
      papers_.push_back(static_cast<double>(i));
    }
  }
  void draw(bool across) {
    i_ = static_cast<std::uint32_t>(rng_.below(kSize));
    const auto others = worker::neighbours_of(i_, kSize, worker::Graph::kComplete, across);
    j_ = others[rng_.below(others.size())];
    gradient_ = 0.1 * rng_.normal();
  }
  // One worker's gradient, after what its meeting did.
  void step() {
    replicas_[i_].step(
        [&](std::vector<float>& weights) { weights[0] -= static_cast<float>(gradient_); });
    papers_[i_] -= gradient_;
  }
  void expect_alike() const {
    for (std::uint32_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(replicas_[i].weights().front(), papers_[i], 1e-4) << i;
    }
  }

  Rng rng_{11, 0};
  std::deque<Replica> replicas_;
  std::vector<double> papers_;
  std::uint32_t i_ = 0;
  std::uint32_t j_ = 0;
  double gradient_ = 0.0;
};

// Lian et al. 2018: x_i and x_j become (x_i + x_j) / 2, then x_i -= rate * gradient. So the sum of
// all changes by gradients alone.
TEST_F(ReplicaTwin, Coupled) {
  double sum = 15.0;
  for (int event = 0; event < kEvents; ++event) {
    draw(true);
    const std::vector<float> then = replicas_[i_].weights();
    const std::vector<float> theirs = replicas_[j_].weights();
    replicas_[j_].meet_halfway(theirs, then, false);
    replicas_[i_].meet_halfway(then, theirs, true);
    papers_[i_] = papers_[j_] = (papers_[i_] + papers_[j_]) / 2.0;
    step();
    expect_alike();
    sum -= gradient_;
  }
  EXPECT_NEAR(std::accumulate(papers_.begin(), papers_.end(), 0.0), sum, 1e-9);
}

// Jin et al. 2016: x_i <- (x_i + x_j) / 2 - rate * gradient, and x_j stays.
TEST_F(ReplicaTwin, Pull) {
  for (int event = 0; event < kEvents; ++event) {
    draw(false);
    replicas_[i_].pulled(replicas_[j_].weights());
    papers_[i_] = (papers_[i_] + papers_[j_]) / 2.0;
    step();
    expect_alike();
  }
}

// Zhang et al. 2015, algorithm 1: x_i -= alpha * (x_i - centre) and centre += alpha * (x_i -
// centre) of the same difference, then x_i -= rate * gradient. Worker 0 holds the centre.
TEST_F(ReplicaTwin, Elastic) {
  constexpr float kAlpha = 0.15F;
  double centre = papers_[0];
  replicas_[0].hold_centre(true);
  double sum = 15.0 + centre;
  for (int event = 0; event < kEvents; ++event) {
    draw(false);
    if (i_ == 0) {
      replicas_[0].meet_centre(kAlpha);
    } else {
      const std::vector<float> then = replicas_[i_].weights();
      replicas_[i_].meet_centre(then, replicas_[0].answer_of_centre(then, kAlpha), kAlpha);
    }
    const double difference = static_cast<double>(kAlpha) * (papers_[i_] - centre);
    papers_[i_] -= difference;
    centre += difference;
    step();
    expect_alike();
    ASSERT_NEAR(replicas_[0].shown().front(), centre, 1e-4);
    sum -= gradient_;
  }
  EXPECT_NEAR(std::accumulate(papers_.begin(), papers_.end(), centre), sum, 1e-9);
}

TEST(Replica, TheCentreOutlivesTheWorkerThatHeldIt) {
  Replica first({0.0F});
  Replica next({4.0F});
  first.hold_centre(true);
  next.hold_centre(false);
  next.meet_centre(std::vector{4.0F}, first.answer_of_centre(std::vector{4.0F}, 0.25F), 0.25F);
  EXPECT_EQ(first.shown(), std::vector{1.0F});
  EXPECT_EQ(next.shown(), std::vector{3.0F});
  next.hold_centre(true);  // The first worker has died.
  EXPECT_EQ(next.shown(), std::vector{1.0F});
}

// Jin et al. 2016: x_i goes to j; x_i <- the mean of x_i and of all that came - rate * gradient.
TEST_F(ReplicaTwin, Push) {
  std::vector<std::vector<double>> came(kSize);
  for (int event = 0; event < kEvents; ++event) {
    draw(false);
    replicas_[j_].push_in(replicas_[i_].weights());
    came[j_].push_back(papers_[i_]);
    came[i_].push_back(papers_[i_]);
    papers_[i_] = std::accumulate(came[i_].begin(), came[i_].end(), 0.0) /
                  static_cast<double>(came[i_].size());
    came[i_].clear();
    step();
    expect_alike();
  }
}

}  // namespace
}  // namespace outpace::collective
