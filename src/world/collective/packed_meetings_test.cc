// Meetings whose weights are packed, over Gloo: ranks are threads of this process.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <latch>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "collective/links_test.h"
#include "collective/meetings.h"
#include "collective/parcel.h"
#include "compress/pack.h"

namespace outpace::collective {
namespace {

constexpr std::size_t kLength = 1000;
constexpr compress::Format kInt8{.kind = compress::Kind::kInt8};

std::vector<float> weights_from(std::uint64_t seed) {
  Rng rng(seed, 0);
  std::vector<float> weights(kLength);
  for (float& weight : weights) {
    weight = static_cast<float>(rng.normal());
  }
  return weights;
}

double peak_of(const std::vector<float>& weights) {
  double peak = 0.0;
  for (const float weight : weights) {
    peak = std::max(peak, std::abs(static_cast<double>(weight)));
  }
  return peak;
}

// Two workers that do nothing but meet, this often for each.
std::array<std::vector<float>, 2> after_meetings(const Meetings::Options& shared, int times) {
  const GroupForTest all(2);
  std::array<Replica, 2> replicas{Replica(weights_from(1)), Replica(weights_from(2))};
  std::latch over(2);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Replica& replica = replicas.at(rank);
      GlooGroup group(all.member(rank));
      group.join();
      replica.connected();
      Meetings::Options options = shared;
      options.place = {.rank = rank, .size = 2};
      Meetings meetings(options, worker::Neighbours(rank, {1 - rank}, 1), group, replica);
      const std::jthread computing([&] {
        for (int i = 0; i < times; ++i) {
          replica.begin_gradient();
          while (!replica.met_within(std::chrono::milliseconds(50))) {
          }
          replica.step([](std::vector<float>&) {});
        }
        over.arrive_and_wait();
        group.abort();
      });
      EXPECT_THROW(meetings.run(), GroupBroken);
    });
  }
  threads.clear();
  EXPECT_GE(replicas[0].meetings() + replicas[1].meetings(), 2U * static_cast<unsigned>(times));
  for (Replica& replica : replicas) {
    const protocol::Carried carried = replica.take_carried();
    EXPECT_EQ(carried.numbers, carried.payloads * kLength);
    EXPECT_EQ(carried.bytes, carried.payloads * parcel_bytes(shared.format, kLength));
  }
  return {replicas[0].weights(), replicas[1].weights()};
}

// One moves by half the difference of the packed weights, and the other by as much back.
TEST(PackedMeetings, KeepTheSumAndBringTwoWithinARounding) {
  const std::vector<float> one = weights_from(1);
  const std::vector<float> other = weights_from(2);
  for (const auto& [kind, levels] :
       {std::pair(compress::Kind::kInt8, 127.0), std::pair(compress::Kind::kInt4, 7.0)}) {
    const auto found = after_meetings(
        {.averaging = Averaging::kCoupled, .alpha = 0.0F, .format = {.kind = kind}}, 10);
    const double scale = std::max(peak_of(one), peak_of(other)) / levels * (1.0 + 1.0 / 64);
    for (std::size_t i = 0; i < kLength; ++i) {
      const auto a = static_cast<double>(found[0][i]);
      const auto b = static_cast<double>(found[1][i]);
      ASSERT_NEAR(a + b, static_cast<double>(one[i]) + static_cast<double>(other[i]), 1e-5) << i;
      ASSERT_LE(std::abs(a - b), scale) << i;
    }
  }
}

TEST(PackedMeetings, PullsAndPushesBringTwoWithinARounding) {
  for (const Averaging averaging : {Averaging::kPull, Averaging::kPush}) {
    const auto found = after_meetings({.averaging = averaging, .alpha = 0.0F, .format = kInt8}, 40);
    const double scale = peak_of(weights_from(1)) / 127.0;
    double most = 0.0;
    for (std::size_t i = 0; i < kLength; ++i) {
      most = std::max(
          most, std::abs(static_cast<double>(found[0][i]) - static_cast<double>(found[1][i])));
    }
    EXPECT_LE(most, 2.0 * scale);
  }
}

// Rank 0 has meetings, and the test is its neighbour. Returns what ended them.
std::string ended_by(Replica& replica,
                     Averaging averaging,
                     const std::function<void(GlooGroup&)>& neighbour) {
  const GroupForTest all(2);
  std::string why;
  std::latch over(1);
  std::jthread meets([&] {
    GlooGroup group(all.member(0));
    group.join();
    replica.connected();
    Meetings meetings(
        {.averaging = averaging, .alpha = 0.0F, .place = {.size = 2}, .format = kInt8},
        worker::Neighbours(0, {1}, 1),
        group,
        replica);
    const std::jthread ends([&] {
      over.wait();
      group.abort();
    });
    try {
      meetings.run();
    } catch (const GroupBroken& /*as it ends*/) {
      why = "broken";
    } catch (const Error& error) {
      why = error.what();
    }
  });
  GlooGroup group(all.member(1));
  group.join();
  try {
    neighbour(group);
  } catch (const GroupBroken& /*by what it said*/) {
  }
  over.count_down();
  meets.join();
  return why;
}

std::vector<std::byte> parcel_of(const std::vector<float>& weights) {
  std::vector<std::byte> parcel(parcel_bytes(kInt8, weights.size()));
  compress::pack(kInt8, weights, packed_in(parcel));
  seal(parcel);
  return parcel;
}

void push(GlooGroup& group, const std::vector<std::byte>& parcel) {
  std::array<float, 1> came{};
  group.exchange(0, kPushed, parcel, kCame, std::as_writable_bytes(std::span(came)));
}

TEST(PackedMeetings, SendWeightsAsTheyArePacked) {
  Replica replica(weights_from(1));
  EXPECT_EQ(ended_by(replica,
                     Averaging::kPull,
                     [](GlooGroup& group) {
                       std::vector<std::byte> came(parcel_bytes(kInt8, kLength));
                       group.send(0, kRequest, std::vector<float>(1));
                       group.receive(0, kReply, std::span(came));
                       EXPECT_EQ(came, parcel_of(weights_from(1)));
                       group.send(0, kCame, std::vector<float>(1));
                     }),
            "broken");
}

// Else each push would take it halfway to rounded numbers, and small steps would be lost.
TEST(PackedMeetings, AWorkerThatIsPushedItsOwnWeightsStaysWhereItIs) {
  const std::vector<float> before = weights_from(1);
  Replica replica(before);
  (void)ended_by(replica, Averaging::kPush, [&](GlooGroup& group) {
    push(group, parcel_of(before));
    push(group, parcel_of(before));
  });
  replica.step([](std::vector<float>&) {});
  const std::vector<float> after = replica.weights();
  for (std::size_t i = 0; i < kLength; ++i) {
    ASSERT_NEAR(after[i], before[i], 1e-6F) << i;
  }
}

void expect_refusal(std::vector<std::byte> parcel, const std::string& why) {
  Replica replica(weights_from(1));
  const std::string ended =
      ended_by(replica, Averaging::kPush, [&](GlooGroup& group) { push(group, parcel); });
  EXPECT_NE(ended.find("the worker in place 1 of the group"), std::string::npos) << ended;
  EXPECT_NE(ended.find(why), std::string::npos) << ended;
  EXPECT_EQ(ended.find('\n'), std::string::npos) << ended;
  EXPECT_EQ(replica.weights(), weights_from(1));
}

TEST(PackedMeetings, WeightsThatCannotBeUsedEndThemWithALineThatNamesTheSender) {
  std::vector<std::byte> parcel = parcel_of(weights_from(2));
  parcel[10] ^= std::byte{4};
  expect_refusal(parcel, "checksum differs");
  expect_refusal(std::vector<std::byte>(parcel.begin(), parcel.begin() + 100), "checksum differs");
  std::vector<float> infinite = weights_from(2);
  infinite[3] = std::numeric_limits<float>::infinity();
  expect_refusal(parcel_of(infinite), "not finite");
}

}  // namespace
}  // namespace outpace::collective
