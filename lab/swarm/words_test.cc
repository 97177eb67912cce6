#include "swarm/words.h"

#include <gtest/gtest.h>

namespace outpace::swarm {
namespace {

TEST(Words, SayWhatWasToldAndDecided) {
  EXPECT_EQ(
      to_words(server::Input{server::PushInput{{1, 1, WorkerId{3}, 2, Sequence{45}}, 4, true}}),
      "push of worker 3 (incarnation 2), gradient 45");
  EXPECT_EQ(to_words(server::Input{server::LeaveInput{WorkerId{1}, 2}}),
            "the connection of worker 1, incarnation 2, is gone");
  EXPECT_EQ(to_words(policy::Event{policy::WorkerLeft{WorkerId{1}, policy::Departure::kStalled}}),
            "worker 1 is stalled");
  EXPECT_EQ(to_words(policy::Event{policy::WorkerLeft{WorkerId{1}, policy::Departure::kDead}}),
            "worker 1 is gone");
  policy::Decision decision{.actions = {policy::Accept{WorkerId{3}, Sequence{45}, 1.0},
                                        policy::Commit{},
                                        policy::Release{WorkerId{3}}},
                            .reason = {.why = policy::Why::kEachCounts, .a = 2.0}};
  EXPECT_EQ(to_words(decision),
            policy::to_words(decision.reason) + ", accept of worker 3, commit, release worker 3");
  EXPECT_EQ(to_words(policy::Decision{}), "nothing changed");
}

TEST(Words, SayWhoCameAndWasSentAway) {
  const ConnectionId peer{7};
  EXPECT_EQ(to_words(admission::Input{admission::WorkerGreets{peer, WorkerId{2}, 5, {}}}),
            "worker 2 greets over connection 7, process 5");
  EXPECT_EQ(to_words(admission::Input{admission::ConnectionEnds{peer}}), "connection 7 ends");
  EXPECT_EQ(to_words(admission::Effect{admission::Accept{peer, WorkerId{2}, 3, false}}),
            "accept connection 7 as incarnation 3 of worker 2");
  EXPECT_EQ(to_words(admission::Effect{
                admission::Refuse{peer, {protocol::Farewell::kFenced, "worker 2 is alive"}}}),
            "refuse connection 7: worker 2 is alive");
}

}  // namespace
}  // namespace outpace::swarm
