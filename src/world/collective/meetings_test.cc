// One rank has meetings; the others are the test, which says what a neighbour says.

#include "collective/meetings.h"

#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collective/links_test.h"

namespace outpace::collective {
namespace {

constexpr std::size_t kNumbers = 1000;
constexpr std::uint32_t kElsewhere = 99;  // A conversation that meetings do not have.

// Rank 0 has meetings of this kind, with weights of 3. Ranks 1 and 2 do the task.
void beside_meetings(Averaging averaging,
                     const std::function<void(GlooGroup&, std::uint32_t)>& task) {
  const GroupForTest all(3);
  std::latch over(2);
  std::vector<std::jthread> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      GlooGroup group(all.member(rank));
      group.join();
      if (rank == 0) {
        Replica replica(std::vector<float>(kNumbers, 3.0F));
        replica.connected();
        Meetings meetings({.averaging = averaging, .alpha = 0.5F, .place = {.rank = 0}},
                          worker::Neighbours(0, {1, 2}, 1),
                          group,
                          replica);
        const std::jthread ends([&] {
          over.wait();
          group.abort();  // As the member does when the run is over.
        });
        EXPECT_THROW(meetings.run(), GroupBroken);
      } else {
        task(group, rank);
        over.arrive_and_wait();  // A rank that went away would break the other's conversations.
      }
    });
  }
}

// Long enough for an answer to come, if it does not wait.
void talk_to(GlooGroup& group, std::uint32_t other) {
  std::vector<float> one(1);
  for (int round = 0; round < 200; ++round) {
    group.exchange(other, kElsewhere, std::vector<float>(1), kElsewhere, one);
  }
}

TEST(Meetings, GiveWeightsToOneNeighbourAtATime) {
  std::atomic<bool> came{false};
  std::latch first_has_them(2);
  beside_meetings(Averaging::kPull, [&](GlooGroup& group, std::uint32_t rank) {
    std::vector<float> theirs(kNumbers);
    if (rank == 1) {
      group.send(0, kRequest, std::vector<float>(1));
      group.receive(0, kReply, theirs);
      first_has_them.arrive_and_wait();
      talk_to(group, 2);
      came = true;
      group.send(0, kCame, std::vector<float>(1));
    } else {
      first_has_them.arrive_and_wait();
      std::jthread waiting([&] {
        group.send(0, kRequest, std::vector<float>(1));  // Nobody receives it yet.
        group.receive(0, kReply, theirs);
        EXPECT_TRUE(came);
      });
      talk_to(group, 1);
      waiting.join();
      group.send(0, kCame, std::vector<float>(1));
    }
    EXPECT_EQ(theirs, std::vector<float>(kNumbers, 3.0F));
  });
}

TEST(Meetings, SayThatWhatWasPushedHasCome) {
  beside_meetings(Averaging::kPush, [&](GlooGroup& group, std::uint32_t) {
    std::vector<float> came(1);
    group.exchange(0, kPushed, std::vector<float>(kNumbers, 1.0F), kCame, came);
    group.exchange(0, kPushed, std::vector<float>(kNumbers, 2.0F), kCame, came);
  });
}

}  // namespace
}  // namespace outpace::collective
