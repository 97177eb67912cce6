#include "invariants/peers.h"

#include <gtest/gtest.h>

#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

constexpr WorkerId kFirst{0};
constexpr WorkerId kSecond{1};

TEST(PeerSums, EachWorkerOfTheGroupAddsOneTerm) {
  Sums sums(100);
  sums.term({1, 1}, kFirst, {{0, 0, 4}});
  EXPECT_THROW(sums.term({1, 1}, kFirst, {{0, 0, 4}}), Violation);
  EXPECT_THROW(sums.complete({1, 1}, {kFirst, kSecond}), Violation);
  sums.term({1, 1}, kSecond, {{0, 4, 8}});
  EXPECT_THROW(sums.complete({1, 1}, {kFirst}), Violation);
  EXPECT_THROW(sums.complete({1, 1}, {kFirst, kSecond, kFirst}), Violation);
  EXPECT_THROW(sums.applied({1, 1}, kFirst, 8), Violation);
  sums.complete({1, 1}, {kFirst, kSecond});
  sums.applied({1, 1}, kFirst, 8);
  EXPECT_THROW(sums.applied({1, 1}, kFirst, 8), Violation) << "twice";
}

TEST(PeerSums, AllApplyTheSameSum) {
  Sums sums(100);
  for (const std::uint32_t generation : {1U, 2U}) {
    sums.term({generation, 1}, kFirst, {{0, 0, 4}});
    sums.complete({generation, 1}, {kFirst});
  }
  sums.applied({2, 1}, kFirst, 4);
  EXPECT_THROW(sums.applied({1, 1}, kSecond, 4), Violation);
}

// It has applied the sum, and dies before another worker has: the others make the version anew.
TEST(PeerSums, WhatOnlyALostWorkerHasAppliedIsForgotten) {
  Sums sums(8);
  for (const std::uint32_t generation : {1U, 2U}) {
    sums.term({generation, 1}, kFirst, {{0, 0, 4}});
    sums.complete({generation, 1}, {kFirst});
  }
  sums.applied({1, 1}, kSecond, 4);
  sums.lost(kSecond);
  sums.applied({2, 1}, kFirst, 4);
  EXPECT_THROW(sums.ended(1), Violation);  // Half of the examples were used.
  sums.lost(kSecond);
  sums.term({2, 2}, kFirst, {{0, 4, 8}});
  sums.complete({2, 2}, {kFirst});
  sums.applied({2, 2}, kFirst, 4);
  sums.ended(1);
}

TEST(PeerSums, AnExampleIsUsedOnceAndAllAreInTheEnd) {
  Sums sums(8);
  sums.term({1, 1}, kFirst, {{0, 0, 4}});
  sums.complete({1, 1}, {kFirst});
  sums.applied({1, 1}, kFirst, 4);
  EXPECT_THROW(sums.ended(1), Violation);
  sums.term({1, 2}, kFirst, {{0, 2, 6}});
  sums.complete({1, 2}, {kFirst});
  EXPECT_THROW(sums.applied({1, 2}, kFirst, 4), Violation);
}

TEST(PeerMeetings, EachOfTheTwoMovesOnce) {
  Meetings meetings;
  const peer::Action moves{peer::Average{peer::How::kHalfway, 1, true, true}};
  EXPECT_THROW(meetings.acts(1, 0, moves), Violation);
  meetings.acts(1, 0, peer::Send{1, peer::Say::kAsk});
  EXPECT_THROW(meetings.acts(1, 0, peer::Send{3, peer::Say::kAsk}), Violation);
  meetings.acts(1, 1, peer::Average{peer::How::kHalfway, 0});
  EXPECT_THROW(meetings.acts(1, 1, peer::Average{peer::How::kHalfway, 0}), Violation);
  meetings.acts(1, 0, moves);
  EXPECT_EQ(meetings.open(), 0U);
}

TEST(PeerMeetings, AVisitIsAnsweredOnce) {
  Meetings meetings;
  meetings.acts(1, 0, peer::Send{2, peer::Say::kRequest});
  meetings.acts(1, 2, peer::Send{0, peer::Say::kReply});
  EXPECT_THROW(meetings.acts(1, 2, peer::Send{0, peer::Say::kReply}), Violation);
  meetings.acts(1, 0, peer::Average{peer::How::kTowards, 2, true, true});
  meetings.acts(2, 0, peer::Send{2, peer::Say::kRequest});
  EXPECT_THROW(meetings.acts(1, 2, peer::Send{0, peer::Say::kReply}), Violation);
}

}  // namespace
}  // namespace outpace::invariants
