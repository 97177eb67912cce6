#include "peer/ring.h"

#include <utility>
#include <variant>

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

Ring ring_of(WorkerId worker) {
  return Ring(
      {.worker = worker, .batches = {.workers = 3, .batch = 4, .examples = 100, .updates = 3}});
}
protocol::Group whole(std::uint32_t generation, std::uint64_t version) {
  return {.generation = generation,
          .version = Version{version},
          .members = {WorkerId{0}, WorkerId{1}, WorkerId{2}},
          .ahead = WorkerId{0},
          .behind = {}};
}
const Ring::Compute& computes(const Ring::Actions& actions) {
  return std::get<Ring::Compute>(actions.back());
}

TEST(PeerRing, AnUpdateThatBrokeOffIsComputedAgainByThoseThatAreLeft) {
  Ring ring = ring_of(WorkerId{2});
  EXPECT_EQ(computes(ring.formed(whole(1, 0))).update.own, (protocol::Ranges{{0, 8, 12}}));
  ring.broken();
  protocol::Group two = whole(2, 0);
  two.members = {WorkerId{1}, WorkerId{2}};
  two.ahead = WorkerId{1};
  const Ring::Actions actions = ring.formed(two);
  EXPECT_EQ(computes(actions).update.own, (protocol::Ranges{{0, 4, 8}}));
  EXPECT_EQ(computes(actions).update.examples, 8U);
  EXPECT_EQ(computes(actions).sequence, Sequence{1});
}

TEST(PeerRing, AWorkerThatIsBehindTakesTheStepOfAllThatMadeIt) {
  Ring ring = ring_of(WorkerId{2});
  (void)ring.formed(whole(1, 0));
  ring.broken();
  protocol::Group two = whole(2, 1);
  two.members = {WorkerId{0}, WorkerId{2}};
  two.behind = {WorkerId{2}};
  const Ring::Actions catches_up = ring.formed(two);
  EXPECT_EQ(std::get<Ring::CatchUp>(catches_up.at(0)).from, WorkerId{0});
  const Ring::Actions then = ring.summed(/*votes=*/false);
  EXPECT_EQ(std::get<Ring::Apply>(then.at(0)).examples, 12U);  // Three workers'.
  EXPECT_EQ(computes(then).update.examples, 8U);
  EXPECT_EQ(ring.version(), Version{1});
}

TEST(PeerRing, TheLimitAndVotesEndIt) {
  Ring limited = ring_of(WorkerId{0});
  (void)limited.formed(whole(1, 0));
  (void)limited.summed(false);
  (void)limited.summed(false);
  EXPECT_TRUE(std::holds_alternative<Ring::Finish>(limited.summed(false).back()));
  Ring voted = ring_of(WorkerId{0});
  (void)voted.formed(whole(1, 0));
  EXPECT_TRUE(std::holds_alternative<Ring::Finish>(voted.summed(true).back()));
  voted.broken();
  EXPECT_TRUE(std::holds_alternative<Ring::Finish>(voted.formed(whole(2, 1)).back()));
}

}  // namespace
}  // namespace outpace::peer
