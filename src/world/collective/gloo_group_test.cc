// Ranks as threads of this process, over loopback: the shape of Gloo's own tests.

#include "collective/gloo_group.h"

#include <csignal>
#include <filesystem>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"

namespace outpace::collective {
namespace {

void each_rank(std::uint32_t size, const std::function<void(GlooGroup&, std::uint32_t)>& task) {
  const TemporaryDirectory folder;
  std::vector<std::jthread> ranks;
  ranks.reserve(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      GlooGroup group({.rank = rank,
                       .size = size,
                       .rendezvous = folder.path() / "rendezvous",
                       .token = "secret"});
      group.join();
      task(group, rank);
    });
  }
}

TEST(GlooGroup, SumsBegunInOneOrderAreThoseOfAllRanks) {
  each_rank(3, [](GlooGroup& group, std::uint32_t rank) {
    const auto mine = static_cast<float>(rank + 1);
    std::vector<float> first(1000, mine);
    std::vector<float> second{10.0F * mine, -mine};
    group.begin_sum(first);
    group.begin_sum(second);
    group.wait_for_sums();
    EXPECT_EQ(first, std::vector<float>(1000, 6.0F));
    EXPECT_EQ(second, (std::vector<float>{60.0F, -6.0F}));
  });
}

TEST(GlooGroup, OneRankAloneKeepsItsNumbers) {
  each_rank(1, [](GlooGroup& group, std::uint32_t) {
    std::vector<float> numbers{1.5F, 2.0F};
    group.begin_sum(numbers);
    group.wait_for_sums();
    EXPECT_EQ(numbers, (std::vector<float>{1.5F, 2.0F}));
  });
}

TEST(GlooGroup, WhoReceivesFromAnybodyLearnsWhoItWas) {
  constexpr std::uint32_t kOffer = 1;
  constexpr std::uint32_t kAnswer = 2;
  std::latch over(3);  // A rank that went away would break the others' conversations.
  each_rank(3, [&over](GlooGroup& group, std::uint32_t rank) {
    std::vector<float> numbers(100);
    if (rank != 0) {
      numbers.assign(100, static_cast<float>(rank));
      group.send(0, kOffer, numbers);
      group.receive(0, kAnswer, numbers);
      EXPECT_EQ(numbers, std::vector<float>(100, static_cast<float>(10 * rank)));
      over.arrive_and_wait();
      return;
    }
    for (int i = 0; i < 2; ++i) {
      const auto from = group.receive_any(kOffer, numbers);
      ASSERT_TRUE(from.has_value());
      EXPECT_EQ(numbers.front(), static_cast<float>(*from));
      group.send(*from, kAnswer, std::vector<float>(100, static_cast<float>(10 * *from)));
    }
    over.arrive_and_wait();
  });
}

TEST(GlooGroup, TwoExchangeAtOnce) {
  std::latch over(2);
  each_rank(2, [&over](GlooGroup& group, std::uint32_t rank) {
    const std::size_t size = 1'000'000;  // More than the sockets hold: neither may wait first.
    const std::vector<float> mine(size, static_cast<float>(rank));
    std::vector<float> theirs(size, -1.0F);
    group.exchange(1 - rank, rank == 0 ? 1 : 2, mine, rank == 0 ? 2 : 1, theirs);
    EXPECT_EQ(theirs, std::vector<float>(size, static_cast<float>(1 - rank)));
    over.arrive_and_wait();
  });
}

TEST(GlooGroup, AReceiverCanBeStopped) {
  std::latch stopped(2);  // A sender that went away would be an error.
  each_rank(2, [&stopped](GlooGroup& group, std::uint32_t rank) {
    if (rank == 0) {
      std::vector<float> numbers(4);
      const std::jthread stopper([&group] { group.stop_receiving(); });
      EXPECT_EQ(group.receive_any(1, numbers), std::nullopt);
    }
    stopped.arrive_and_wait();
  });
}

TEST(GlooGroup, ASumWithoutARankThatLeftIsAnErrorAndNotAWait) {
  each_rank(2, [](GlooGroup& group, std::uint32_t rank) {
    if (rank == 1) {
      return;
    }
    std::vector<float> numbers(4);
    try {
      group.begin_sum(numbers);
      group.wait_for_sums();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kTooFewWorkers);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  });
}

TEST(GlooGroup, WhatWaitsForASilentRankEndsWhenTheGroupIsAborted) {
  std::latch over(3);  // The silent rank neither sums nor closes its connections until then.
  each_rank(3, [&over](GlooGroup& group, std::uint32_t rank) {
    if (rank != 2) {
      std::vector<float> first(1000);
      std::vector<float> second(1000);
      group.begin_sum(first);
      group.begin_sum(second);
      const std::jthread breaker([&group] { group.abort(); });
      EXPECT_THROW(group.wait_for_sums(), GroupBroken);
      EXPECT_THROW(group.send(2, 1, first), GroupBroken);
    }
    over.arrive_and_wait();
  });
}

TEST(GlooGroup, ARankThatReceivesFromAnybodyLearnsThatTheGroupIsAborted) {
  std::latch over(2);
  each_rank(2, [&over](GlooGroup& group, std::uint32_t rank) {
    if (rank == 0) {
      std::vector<float> numbers(4);
      const std::jthread breaker([&group] { group.abort(); });
      EXPECT_THROW((void)group.receive_any(1, numbers), GroupBroken);
    }
    over.arrive_and_wait();
  });
}

TEST(GlooGroup, ARankThatWaitsForOneThatNeverComesCanBeAborted) {
  const TemporaryDirectory folder;
  GlooGroup group(
      {.rank = 0, .size = 2, .rendezvous = folder.path() / "rendezvous", .token = "secret"});
  const std::jthread breaker([&group] { group.abort(); });
  EXPECT_THROW(group.join(), GroupBroken);
}

TEST(GlooGroup, AGroupOfFewerFollowsOneThatIsBroken) {
  const TemporaryDirectory folder;
  std::latch died(3);
  std::vector<std::jthread> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      std::vector<float> numbers{static_cast<float>(rank + 1)};
      {
        GlooGroup first({.rank = rank,
                         .size = 3,
                         .rendezvous = folder.path() / "rendezvous",
                         .token = "secret"});
        first.join();
        if (rank != 0) {
          first.begin_sum(numbers);
          EXPECT_THROW(first.wait_for_sums(), GroupBroken);
        }
      }
      if (rank != 0) {
        numbers = {static_cast<float>(rank + 1)};
        GlooGroup second({.rank = rank - 1,
                          .size = 2,
                          .rendezvous = folder.path() / "rendezvous",
                          .generation = 2,
                          .token = "secret"});
        second.join();
        second.begin_sum(numbers);
        second.wait_for_sums();
        EXPECT_EQ(numbers, std::vector<float>{5.0F});
        died.arrive_and_wait();  // A rank that leaves would break the sum of the other.
      } else {
        died.arrive_and_wait();
      }
    });
  }
}

// A write to a rank that has just left would end the process, now and then.
TEST(GlooGroup, ABrokenConnectionIsNoSignal) {
  each_rank(1, [](GlooGroup&, std::uint32_t) { EXPECT_EQ(std::raise(SIGPIPE), 0); });
}

}  // namespace
}  // namespace outpace::collective
