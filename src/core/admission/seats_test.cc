#include "admission/seats.h"

#include <gtest/gtest.h>

namespace outpace::admission {
namespace {

using Workers = std::vector<WorkerId>;

bool nobody(WorkerId /*worker*/) {
  return false;
}

TEST(Seats, GivesAPassTheSameNumbersAgain) {
  Seats seats(2, 6, {});
  EXPECT_EQ(seats.give("a", 2, nobody), (Workers{WorkerId{2}, WorkerId{3}}));
  EXPECT_EQ(seats.give("b", 1, nobody), Workers{WorkerId{4}});
  EXPECT_EQ(seats.give("a", 2, nobody), (Workers{WorkerId{2}, WorkerId{3}}));
  EXPECT_EQ(seats.give("a", 3, nobody), (Workers{WorkerId{2}, WorkerId{3}, WorkerId{5}}));
  EXPECT_EQ(seats.give("b", 2, nobody), std::nullopt) << "all are given";
}

TEST(Seats, GivesNoNumberUnderWhichSomebodyTakesPart) {
  Seats seats(0, 3, {});
  EXPECT_EQ(seats.give("a", 1, [](WorkerId worker) { return worker == WorkerId{0}; }),
            Workers{WorkerId{1}});
}

TEST(Seats, KeepsTheNumberOfALostWorkerAndGivesThatOfOneThatLeft) {
  Seats seats(0, 2, {});
  EXPECT_EQ(seats.give("a", 1, nobody), Workers{WorkerId{0}});
  EXPECT_EQ(seats.give("b", 1, nobody), Workers{WorkerId{1}});
  EXPECT_EQ(seats.give("c", 1, nobody), std::nullopt);
  seats.left(WorkerId{1});
  EXPECT_EQ(seats.give("c", 1, [](WorkerId worker) { return worker == WorkerId{1}; }), std::nullopt)
      << "it has not gone yet";
  EXPECT_EQ(seats.give("c", 1, nobody), Workers{WorkerId{1}});
  EXPECT_NE(seats.why_not("b", WorkerId{1}), "");
  seats.left(WorkerId{0});
  seats.here(WorkerId{0});
  EXPECT_EQ(seats.give("b", 1, nobody), std::nullopt) << "it came back";
}

TEST(Seats, GivesTheNumbersOfAMachineThatNeverBegan) {
  Seats seats(0, 2, {});
  EXPECT_EQ(seats.give("a", 2, nobody), (Workers{WorkerId{0}, WorkerId{1}}));
  seats.here(WorkerId{1});
  EXPECT_EQ(seats.give("a", 2, nobody), (Workers{WorkerId{0}, WorkerId{1}})) << "it asks again";
  seats.gave_up("a");
  EXPECT_EQ(seats.give("b", 2, nobody), std::nullopt) << "worker 1 may come back";
  EXPECT_EQ(seats.give("b", 1, nobody), Workers{WorkerId{0}});
}

TEST(Seats, HoldsEachPeerToItsNumbers) {
  Seats seats(1, 4, {{WorkerId{2}, "a"}});
  EXPECT_EQ(seats.why_not("a", WorkerId{2}), "");
  EXPECT_NE(seats.why_not("b", WorkerId{2}), "");
  EXPECT_NE(seats.why_not("a", WorkerId{3}), "");
  EXPECT_NE(seats.why_not("", WorkerId{2}), "") << "also one with the token";
  EXPECT_EQ(seats.why_not("", WorkerId{3}), "");
  EXPECT_EQ(seats.give("a", 1, nobody), Workers{WorkerId{2}}) << "from before";
}

TEST(Seats, TakesBackAllNumbersOfAPass) {
  Seats seats(0, 4, {});
  static_cast<void>(seats.give("a", 2, nobody));
  EXPECT_EQ(seats.take_back(WorkerId{1}), "a");
  EXPECT_NE(seats.why_not("a", WorkerId{0}), "");
  EXPECT_EQ(seats.take_back(WorkerId{1}), "");
  EXPECT_EQ(seats.give("b", 1, nobody), Workers{WorkerId{0}});
}

}  // namespace
}  // namespace outpace::admission
