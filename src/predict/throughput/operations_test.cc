#include "throughput/operations.h"

#include <numeric>

#include <gtest/gtest.h>

#include "throughput/even_profile_test.h"

namespace outpace::throughput {
namespace {

constexpr double kBytesOfFloat = 4.0;

// Layers of 10 ms forward and 20 ms backward, with these numbers in one tensor each.
MeasuredProfile layered(const std::vector<std::uint64_t>& numbers) {
  MeasuredProfile profile = even_profile();
  profile.manifest.tensors.clear();
  for (const std::uint64_t count : numbers) {
    profile.manifest.tensors.push_back({.name = "w", .shape = {count}});
    profile.layers.push_back({0.01, 0.02});
  }
  return profile;
}

TEST(JoinLayers, TakesAsManyLayersAsTensorsForTheSame) {
  const auto layers = join_layers(layered({10, 30}));
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_DOUBLE_EQ(layers[1].forward, 1.0 / 6);
  EXPECT_DOUBLE_EQ(layers[1].backward, 2.0 / 6);
  EXPECT_EQ(layers[1].numbers, 30U);
}

TEST(JoinLayers, FollowsTheProfileWhereItSays) {
  MeasuredProfile profile = layered({10, 30, 5});
  profile.layers = {{0.01, 0.02, 2}, {0.03, 0.0, 0}, {0.02, 0.02, 1}};
  const auto layers = join_layers(profile);
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].numbers, 40U);
  EXPECT_EQ(layers[1].numbers, 0U);
  EXPECT_EQ(layers[2].numbers, 5U);
  EXPECT_DOUBLE_EQ(layers[1].forward, 0.3);
}

TEST(JoinLayers, SpreadsTheTimeByTheSizesOfTensorsWhereNothingElseIsKnown) {
  MeasuredProfile profile = layered({10, 30});
  profile.layers = {{0.01, 0.03}};
  const auto layers = join_layers(profile);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_DOUBLE_EQ(layers[0].forward, 0.25 * 0.25);
  EXPECT_DOUBLE_EQ(layers[1].backward, 0.75 * 0.75);
  profile.layers.clear();
  EXPECT_TRUE(join_layers(profile).empty());
}

TEST(TellTensors, FindsThemByWhatEachLayerNeeds) {
  MeasuredProfile profile = layered({10, 30, 5});
  tell_tensors(profile, {40, 40, 45});
  EXPECT_EQ(profile.layers[0].tensors, 2U);
  EXPECT_EQ(profile.layers[1].tensors, 0U);
  EXPECT_EQ(profile.layers[2].tensors, 1U);
  for (const auto& needs : {std::vector<std::size_t>{45}, {10, 20, 45}, {40, 40, 44}, {}}) {
    MeasuredProfile other = layered({10, 30, 5});
    tell_tensors(other, needs);
    EXPECT_EQ(other.layers, layered({10, 30, 5}).layers);
  }
}

TEST(OverlapOf, SendsRecordsDownAndSlicesUp) {
  // 64 KiB each: records of 16 KiB. A layer needs the records up to its last number.
  const std::uint64_t numbers = 16 * 1024;
  const auto overlap = overlap_of(layered({numbers, 1, numbers, numbers, numbers - 1}), 128 * 1024);
  ASSERT_TRUE(overlap);
  std::vector<double> pieces;
  std::vector<std::size_t> needed_by;
  for (const sim::Overlap::Piece& piece : overlap->pieces) {
    pieces.push_back(piece.bytes / 1024);
    needed_by.push_back(piece.layer);
  }
  EXPECT_EQ(pieces, (std::vector<double>{16, 48, 16, 64, 64, 48}));
  EXPECT_EQ(needed_by, (std::vector<std::size_t>{0, 0, 1, 2, 3, 4}));
  ASSERT_EQ(overlap->slices.size(), 2U);  // The last layer alone has 4 bytes too few.
  EXPECT_EQ(overlap->slices[0].layer, 2U);
  EXPECT_EQ(overlap->slices[0].bytes, 3 * 64 * 1024 - kBytesOfFloat);
  EXPECT_EQ(overlap->slices[1].layer, 0U);
  EXPECT_EQ(overlap->slices[1].bytes, 64 * 1024 + kBytesOfFloat);
}

TEST(OverlapOf, IsNothingWithoutSlicesOrLayers) {
  EXPECT_FALSE(overlap_of(layered({1000, 1000}), 0));
  EXPECT_FALSE(overlap_of(even_profile(), 1024));
}

TEST(OverlapOf, JoinsTheSlicesOfDeepNetworks) {
  const auto overlap = overlap_of(layered(std::vector<std::uint64_t>(500, 100'000)), 1);
  ASSERT_TRUE(overlap);
  EXPECT_LE(overlap->slices.size(), 32U);
  EXPECT_LE(overlap->pieces.size(), 33U);
  EXPECT_EQ(overlap->layers.size(), 500U);
  double down = 0.0;
  double up = 0.0;
  for (const sim::Overlap::Piece& piece : overlap->pieces) {
    down += piece.bytes;
  }
  for (const sim::Overlap::Slice& slice : overlap->slices) {
    up += slice.bytes;
  }
  EXPECT_NEAR(down, 2e8, 1e-3);
  EXPECT_NEAR(up, 2e8, 1e-3);
}

TEST(Simplified, KeepsWhatCanDelayAnIteration) {
  // A layer is as large as a record.
  const auto even = overlap_of(layered(std::vector<std::uint64_t>(16, 65'536)), 1);
  const sim::Overlap simple = simplified(*even);
  EXPECT_EQ(simple.pieces.size(), 2U);  // On a straight line.
  EXPECT_EQ(simple.slices.size(), 2U);
  EXPECT_EQ(simple.layers.size(), 16U);
  // Half of all weights in the fourth of eight layers: it is late, and its gradient too.
  std::vector<std::uint64_t> sizes(8, 100'000);
  sizes[3] = 700'000;
  const sim::Overlap bent = simplified(*overlap_of(layered(sizes), 1));
  ASSERT_EQ(bent.pieces.size(), 3U);
  EXPECT_EQ(bent.pieces[1].layer, 3U);
  ASSERT_EQ(bent.slices.size(), 3U);
  EXPECT_EQ(bent.slices[1].layer, 3U);
  double down = 0.0;
  double up = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    down += bent.pieces[i].bytes;
    up += bent.slices[i].bytes;
  }
  EXPECT_NEAR(down, 5.6e6, 1e-6);
  EXPECT_NEAR(up, 5.6e6, 1e-6);
}

TEST(BucketsOf, AreReadyWithTheirFirstTensor) {
  // Computing takes 90 ms; the last layer's gradient is there after 50.
  const MeasuredProfile profile = layered({100, 200, 700});
  const auto buckets = buckets_of(profile, 700 * 4);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_NEAR(buckets[0].ready, 5.0 / 9, 1e-12);
  EXPECT_DOUBLE_EQ(buckets[0].bytes, 0.7);
  EXPECT_DOUBLE_EQ(buckets[1].ready, 1.0);
  EXPECT_DOUBLE_EQ(buckets[1].bytes, 0.3);
  EXPECT_EQ(buckets_of(profile, 1 << 20).size(), 1U);
  EXPECT_DOUBLE_EQ(buckets_of(even_profile(), 16).back().ready, 1.0);
}

}  // namespace
}  // namespace outpace::throughput
