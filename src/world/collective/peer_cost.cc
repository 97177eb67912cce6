#include "collective/peer_cost.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "collective/gloo_group.h"
#include "collective/meetings.h"
#include "collective/replica.h"
#include "worker/neighbour.h"

namespace outpace::collective {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kWarmUps = 5;

// The seconds of each repeat, after a few that do not count, in order.
std::vector<double> sorted_seconds(std::size_t repeats, const std::function<double()>& once) {
  std::vector<double> seconds;
  seconds.reserve(repeats);
  for (std::size_t i = 0; i < kWarmUps + repeats; ++i) {
    const double took = once();
    if (i >= kWarmUps) {
      seconds.push_back(took);
    }
  }
  std::ranges::sort(seconds);
  return seconds;
}

double seconds_of(const std::function<void()>& what) {
  const auto begun = steady_clock::now();
  what();
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

// Runs both members of a pair, each on a thread of its own, and throws what one of them threw.
void run_pair(const std::function<void(std::uint32_t rank)>& member) {
  std::array<std::exception_ptr, 2> failures;
  const auto guarded = [&](std::uint32_t rank) {
    try {
      member(rank);
    } catch (...) {
      failures.at(rank) = std::current_exception();
    }
  };
  {
    const std::jthread other([&] { guarded(1); });
    guarded(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

// Two members in this process.
using Pair = std::array<GroupOptions, 2>;

Pair make_pair_of_members() {
  Pair pair;
  std::vector<protocol::PeerPlace> places;
  const std::string key = wire::draw_group_key();
  for (GroupOptions& member : pair) {
    member.links = std::make_shared<wire::PeerLinks>(wire::PeerLinks::Options{});
    member.links->expect(member.generation, key);
    places.push_back(member.links->place());
  }
  for (std::uint32_t rank = 0; rank < pair.size(); ++rank) {
    pair.at(rank).rank = rank;
    pair.at(rank).size = static_cast<std::uint32_t>(pair.size());
    pair.at(rank).places = places;
  }
  return pair;
}

// The seconds to sum one number, and all. Both members measure the same, because a sum ends when
// both have arrived.
std::array<double, 2> sum_seconds(const Pair& pair, std::size_t numbers, std::size_t repeats) {
  std::array<double, 2> found{};
  run_pair([&](std::uint32_t rank) {
    GlooGroup group(pair.at(rank));
    group.join();
    const auto median_of = [&](std::size_t count) {
      std::vector<float> some(count);
      const auto sum = [&] {
        group.begin_sum(some);
        group.wait_for_sums();
      };
      return sorted_seconds(repeats, [&] { return seconds_of(sum); })[repeats / 2];
    };
    const std::array<double, 2> its{median_of(1), median_of(numbers)};
    found = rank == 0 ? its : found;
  });
  return found;
}

// From a worker's wish to meet to the moment when it has met, as in a gossip (gossip.cc): the mean,
// because some of the wake-ups take ten times as long as the others, and all count.
double meeting_seconds(const Pair& pair, std::size_t repeats) {
  constexpr std::chrono::milliseconds kLook{50};
  // A meeting follows a transfer, or computing: its threads have slept, and so have processors,
  // which then take longer to wake.
  constexpr std::chrono::milliseconds kAsleep{10};
  Replica asks({0.0F});
  Replica answers({0.0F});
  std::atomic<bool> over{false};
  const auto leave = [&] {
    over = true;
    asks.leave_group();
    answers.leave_group();
  };
  double found = 0.0;
  const std::jthread computing([&] {
    const auto meet = [&] {
      asks.begin_gradient();
      while (!over && !asks.met_within(kLook)) {
      }
    };
    const std::vector<double> seconds = sorted_seconds(repeats, [&] {
      std::this_thread::sleep_for(kAsleep);
      return seconds_of(meet);
    });
    found = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(repeats);
    leave();
  });
  run_pair([&](std::uint32_t rank) {
    Replica& replica = rank == 0 ? asks : answers;
    try {
      GlooGroup group(pair.at(rank));
      group.join();
      replica.connected();
      Meetings({.averaging = Averaging::kCoupled, .alpha = 0.0F, .place = {.rank = rank}},
               worker::Neighbours(rank, {1 - rank}, /*seed=*/1),
               group,
               replica)
          .run();
    } catch (const GroupBroken& /*why*/) {
      if (!over.exchange(true)) {
        leave();
        throw;
      }
    } catch (...) {
      leave();
      throw;
    }
  });
  return found;
}

}  // namespace

PeerCost measure_peer_cost(std::size_t numbers, std::size_t repeats) {
  CHECK(numbers >= 1 && repeats >= 1);
  const auto [steps, whole] = sum_seconds(make_pair_of_members(), numbers, repeats);
  return {
      .message_seconds = steps / 2.0,  // Two members take two steps.
      .byte_seconds = std::max(0.0, whole - steps) / (static_cast<double>(numbers) * sizeof(float)),
      .meeting_message_seconds = meeting_seconds(make_pair_of_members(), repeats) / 2.0};
}

}  // namespace outpace::collective
