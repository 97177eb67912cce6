#include "live/strand.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace outpace::live {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(30);  // Reached only if a test is about to fail.

TEST(Strand, KeepsValuesUntilItIsOpen) {
  std::vector<int> seen;
  Strand<int> strand([&seen](int value) { seen.push_back(value); });
  strand.post(1);
  strand.post(2);
  EXPECT_TRUE(seen.empty());
  strand.open();
  EXPECT_EQ(seen, (std::vector{1, 2}));
}

TEST(Strand, HandlesAPostOnItsOwnThreadBeforeItReturns) {
  std::thread::id handled_on;
  Strand<int> strand([&handled_on](int) { handled_on = std::this_thread::get_id(); });
  strand.open();
  std::jthread([&] {
    strand.post(1);
    EXPECT_EQ(handled_on, std::this_thread::get_id());
  }).join();
}

TEST(Strand, HandlesWhatAHandlerPostsAfterTheHandler) {
  std::vector<int> seen;
  Strand<int>* self = nullptr;
  Strand<int> strand([&](int value) {
    if (value < 3) {
      self->post(value + 1);
    }
    seen.push_back(value);
  });
  self = &strand;
  strand.open();
  strand.post(1);
  EXPECT_EQ(seen, (std::vector{1, 2, 3}));
}

// What waits is handled before what is due, however long each value takes.
TEST(Strand, RestsWhenNothingWaitsAnyMore) {
  std::vector<int> seen;
  Strand<int>* self = nullptr;
  Strand<int> strand(
      [&](int value) {
        if (value < 3) {
          self->post(value + 1);
        }
        seen.push_back(value);
      },
      [&] { seen.push_back(0); });
  self = &strand;
  strand.open();
  EXPECT_EQ(seen, (std::vector{0}));
  strand.post(1);
  EXPECT_EQ(seen, (std::vector{0, 1, 2, 3, 0}));
  strand.run([&] { seen.push_back(9); });
  EXPECT_EQ(seen, (std::vector{0, 1, 2, 3, 0, 9, 0}));
}

TEST(Strand, HandlesWhatARestPosts) {
  std::vector<int> seen;
  Strand<int>* self = nullptr;
  bool rested = false;
  Strand<int> strand([&](int value) { seen.push_back(value); },
                     [&] {
                       if (!std::exchange(rested, true)) {
                         self->post(7);
                       }
                     });
  self = &strand;
  strand.open();
  EXPECT_EQ(seen, (std::vector{7}));
}

TEST(Strand, IsWorkedByOneThreadAtATimeAndKeepsEachPostersOrder) {
  constexpr int kPosters = 4;
  constexpr int kPosts = 5000;
  std::atomic<int> at_work{0};
  bool alone = true;
  std::vector<int> next(kPosters, 0);
  int in_order = 0;
  const auto enter = [&] { alone = alone && ++at_work == 1; };
  Strand<int> strand([&](int value) {
    enter();
    in_order += value % kPosts == next[static_cast<std::size_t>(value / kPosts)]++ ? 1 : 0;
    --at_work;
  });
  strand.open();
  int turns = 0;
  {
    std::vector<std::jthread> posters;
    for (int poster = 0; poster < kPosters; ++poster) {
      posters.emplace_back([&strand, poster] {
        for (int i = 0; i < kPosts; ++i) {
          strand.post(poster * kPosts + i);
        }
      });
    }
    for (; turns < 100; ++turns) {  // The owner gets its turn among busy posters.
      strand.run([&] {
        enter();
        --at_work;
      });
    }
  }
  strand.close();
  EXPECT_TRUE(alone);
  EXPECT_EQ(in_order, kPosters * kPosts);
}

TEST(Strand, GivesAPosterItsThreadBackAndItsOwnerTheRest) {
  constexpr int kLast = 1000;
  int seen = 0;
  Strand<int>* self = nullptr;
  Strand<int> strand([&](int value) {  // As if another thread posted all the time.
    ++seen;
    if (value < kLast) {
      self->post(value + 1);
    }
  });
  self = &strand;
  strand.open();
  strand.post(1);
  EXPECT_LT(seen, kLast / 10);
  const auto start = steady_clock::now();
  while (seen < kLast && steady_clock::now() < start + kPatience) {
    strand.wait_until(start + kPatience);
    strand.run([] {});
  }
  EXPECT_EQ(seen, kLast);
  EXPECT_LT(steady_clock::now() - start, kPatience / 2) << "it was woken";
}

TEST(Strand, HandlesWhatIsLeftAtTheClose) {
  constexpr int kLast = 1000;
  int seen = 0;
  Strand<int>* self = nullptr;
  Strand<int> strand([&](int value) {
    ++seen;
    if (value < kLast) {
      self->post(value + 1);
    }
  });
  self = &strand;
  strand.open();
  strand.post(1);
  strand.close();
  EXPECT_EQ(seen, kLast);
}

TEST(Strand, HandlesAllThatIsPostedOnceItsOwnerHasLeft) {
  constexpr int kLast = 1000;  // Many turns.
  int seen = 0;
  Strand<int>* self = nullptr;
  Strand<int> strand([&](int value) {
    ++seen;
    if (value < kLast) {
      self->post(value + 1);
    }
  });
  self = &strand;
  strand.open();
  strand.leave();
  strand.post(1);
  EXPECT_EQ(seen, kLast);
}

TEST(Strand, DropsWhatComesAfterTheClose) {
  int seen = 0;
  Strand<int> strand([&seen](int) { ++seen; });
  strand.open();
  strand.post(1);
  strand.close();
  strand.post(2);
  EXPECT_EQ(seen, 1);
}

TEST(Strand, EndsItsOwnersWaitWhenWoken) {
  Strand<int> strand([](int) {});
  strand.open();
  strand.wake();  // Before the wait counts too.
  const auto start = steady_clock::now();
  strand.wait_until(start + kPatience);
  EXPECT_LT(steady_clock::now() - start, kPatience / 2);
}

TEST(Strand, TellsItsOwnerWhatAHandlerThrew) {
  int seen = 0;
  Strand<int> strand([&seen](int value) {
    ++seen;
    if (value == 2) {
      throw std::runtime_error("two");
    }
  });
  strand.open();
  std::jthread([&] {
    strand.post(1);
    strand.post(2);
    strand.post(3);
  }).join();
  EXPECT_EQ(seen, 2);
  strand.wait_until(steady_clock::time_point::max());  // It has been woken.
  EXPECT_THROW(strand.run([] {}), std::runtime_error);
}

TEST(Strand, TellsItsOwnerWhatItsTaskThrew) {
  Strand<int> strand([](int) {});
  strand.open();
  EXPECT_THROW(strand.run([] { throw std::runtime_error("task"); }), std::runtime_error);
}

}  // namespace
}  // namespace outpace::live
