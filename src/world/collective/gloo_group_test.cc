// Ranks as threads of this process, over loopback: the shape of Gloo's own tests.

#include "collective/gloo_group.h"

#include <algorithm>
#include <barrier>
#include <csignal>
#include <cstddef>
#include <functional>
#include <latch>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "collective/links_test.h"

namespace outpace::collective {
namespace {

// Each test is made twice: in the clear, and by TLS.
class GlooGroupTest : public ::testing::TestWithParam<bool> {
 protected:
  static void each_rank(std::uint32_t size,
                        const std::function<void(GlooGroup&, std::uint32_t)>& task) {
    const GroupForTest all(size, GetParam());
    std::vector<std::jthread> ranks;
    ranks.reserve(size);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      ranks.emplace_back([&, rank] {
        GlooGroup group(all.member(rank));
        group.join();
        task(group, rank);
      });
    }
  }
  // Rank 1 sends this many bytes where rank 0 expects 100.
  static void expect_no_more_than_asked(std::size_t bytes);
};
INSTANTIATE_TEST_SUITE_P(PlainAndSealed, GlooGroupTest, ::testing::Bool());

TEST_P(GlooGroupTest, SumsBegunInOneOrderAreThoseOfAllRanks) {
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

TEST_P(GlooGroupTest, OneRankAloneKeepsItsNumbers) {
  each_rank(1, [](GlooGroup& group, std::uint32_t) {
    std::vector<float> numbers{1.5F, 2.0F};
    group.begin_sum(numbers);
    group.wait_for_sums();
    EXPECT_EQ(numbers, (std::vector<float>{1.5F, 2.0F}));
  });
}

TEST_P(GlooGroupTest, WhoReceivesFromAnybodyLearnsWhoItWas) {
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

TEST_P(GlooGroupTest, TwoExchangeAtOnce) {
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

TEST_P(GlooGroupTest, AReceiverCanBeStopped) {
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

TEST_P(GlooGroupTest, ASumWithoutARankThatLeftIsAnErrorAndNotAWait) {
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

TEST_P(GlooGroupTest, WhatWaitsForASilentRankEndsWhenTheGroupIsAborted) {
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

TEST_P(GlooGroupTest, ARankThatReceivesFromAnybodyLearnsThatTheGroupIsAborted) {
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

TEST_P(GlooGroupTest, ARankThatWaitsForOneThatNeverComesCanBeAborted) {
  const GroupForTest all(2, GetParam());
  GlooGroup group(all.member(0));
  const std::jthread breaker([&group] { group.abort(); });
  EXPECT_THROW(group.join(), GroupBroken);
}

TEST_P(GlooGroupTest, AGroupOfFewerFollowsOneThatIsBroken) {
  GroupForTest all(3, GetParam());
  std::latch died(3);
  std::barrier regrouped(3, [&all]() noexcept { all.meet(2); });
  std::vector<std::jthread> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      std::vector<float> numbers{static_cast<float>(rank + 1)};
      {
        GlooGroup first(all.member(rank));
        first.join();
        if (rank != 0) {
          first.begin_sum(numbers);
          EXPECT_THROW(first.wait_for_sums(), GroupBroken);
        }
      }
      regrouped.arrive_and_wait();
      if (rank != 0) {
        numbers = {static_cast<float>(rank + 1)};
        GlooGroup second(all.member(rank - 1, {1, 2}));
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

// Each sends to all others a byte for its own rank and one for theirs.
TEST_P(GlooGroupTest, AllSwapAtOnceAndAsOftenAsTheyWish) {
  constexpr std::uint32_t kSize = 4;
  std::latch over(kSize);
  each_rank(kSize, [&over](GlooGroup& group, std::uint32_t rank) {
    std::vector<float> plain(100, 1.0F);
    group.begin([rank](const Swap& swap) {
      for (std::uint32_t round = 0; round < 3; ++round) {
        std::vector<std::vector<std::byte>> mine(kSize);
        std::vector<std::vector<std::byte>> theirs(kSize, std::vector<std::byte>(3));
        std::vector<std::span<const std::byte>> out(kSize);
        for (std::uint32_t other = 0; other < kSize; ++other) {
          for (const std::uint32_t byte : {round, rank, other}) {
            mine[other].push_back(static_cast<std::byte>(byte));
          }
          out[other] = mine[other];
        }
        swap(out, {theirs.begin(), theirs.end()});
        for (std::uint32_t other = 0; other < kSize; ++other) {
          if (other != rank) {
            EXPECT_EQ(theirs[other][0], static_cast<std::byte>(round));
            EXPECT_EQ(theirs[other][1], static_cast<std::byte>(other));
            EXPECT_EQ(theirs[other][2], static_cast<std::byte>(rank));
          }
        }
      }
    });
    group.begin_sum(plain);  // Sums of both kinds go on at once.
    group.wait_for_sums();
    EXPECT_EQ(plain, std::vector<float>(100, 4.0F));
    over.arrive_and_wait();
  });
}

TEST_P(GlooGroupTest, AnErrorOfASumIsThrownThereAndEndsTheGroupForAll) {
  each_rank(2, [](GlooGroup& group, std::uint32_t rank) {
    group.begin([rank](const Swap& swap) {
      if (rank == 0) {
        throw Error(ExitCode::kFailure, "what came cannot be used");
      }
      std::vector<std::byte> room(8);
      swap({room, {}}, {room, {}});
    });
    try {
      group.wait_for_sums();
      FAIL() << "no error";
    } catch (const GroupBroken& /*why*/) {
      EXPECT_EQ(rank, 1U);
    } catch (const Error& error) {
      EXPECT_EQ(rank, 0U);
      EXPECT_STREQ(error.what(), "what came cannot be used");
    }
  });
}

void GlooGroupTest::expect_no_more_than_asked(std::size_t bytes) {
  std::latch over(2);
  each_rank(2, [&](GlooGroup& group, std::uint32_t rank) {
    std::vector<std::byte> room(200, std::byte{7});
    group.begin([&, rank](const Swap& swap) {
      const std::vector<std::byte> mine(rank == 0 ? 1 : bytes, std::byte{9});
      swap({mine, mine},
           {rank == 0 ? std::span<std::byte>() : std::span(room).first(1),
            rank == 0 ? std::span(room).first(100) : std::span<std::byte>()});
    });
    try {
      group.wait_for_sums();
    } catch (const GroupBroken& /*too many*/) {
    }
    if (rank == 0) {
      EXPECT_EQ(std::ranges::count(std::span(room).last(100), std::byte{7}), 100);
      EXPECT_LE(std::ranges::count(room, std::byte{9}), static_cast<std::ptrdiff_t>(bytes));
    }
    over.arrive_and_wait();
  });
}

TEST_P(GlooGroupTest, AMessageOfAnotherSizeWritesNothingBeyondTheRoomForIt) {
  expect_no_more_than_asked(40);
  expect_no_more_than_asked(150);
}

// A write to a rank that has just left would end the process, now and then.
TEST_P(GlooGroupTest, ABrokenConnectionIsNoSignal) {
  each_rank(1, [](GlooGroup&, std::uint32_t) { EXPECT_EQ(std::raise(SIGPIPE), 0); });
}

}  // namespace
}  // namespace outpace::collective
