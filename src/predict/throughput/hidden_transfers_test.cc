#include "throughput/hidden_transfers.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

// Four layers, each a twelfth of the computing forward and a sixth backward.
sim::Overlap all_weights_in(std::size_t layer) {
  return {.layers = std::vector<sim::Overlap::Layer>(4, {1.0 / 12, 1.0 / 6}),
          .pieces = {{.bytes = 4e6, .layer = layer}},
          .slices = {{.bytes = 4e6, .layer = layer}}};
}

TEST(HiddenTransfers, AreThoseOfLaterLayers) {
  // What the first layer needs hides nothing. The last layer's weights hide three forward passes,
  // and its gradient three backward passes: 9 / 12 of the computing.
  EXPECT_NEAR(hidden_seconds(hidden_transfers(all_weights_in(0)), 0.12, 1.0, 1.0), 0.0, 1e-12);
  EXPECT_NEAR(hidden_seconds(hidden_transfers(all_weights_in(3)), 0.12, 1.0, 1.0), 0.09, 1e-12);
  // A transfer hides no more than it takes.
  EXPECT_NEAR(hidden_seconds(hidden_transfers(all_weights_in(3)), 0.12, 0.01, 0.0), 0.01, 1e-12);
  EXPECT_NEAR(hidden_seconds(hidden_transfers(all_weights_in(3)), 0.12, 0.0, 0.0), 0.0, 1e-12);
}

TEST(HiddenTransfers, TakeTheLatestPieceAndSlice) {
  sim::Overlap overlap = all_weights_in(3);
  overlap.pieces = {{.bytes = 1e6, .layer = 0}, {.bytes = 3e6, .layer = 3}};
  overlap.slices = {{.bytes = 3e6, .layer = 3}, {.bytes = 1e6, .layer = 0}};
  const HiddenTransfers transfers = hidden_transfers(overlap);
  // 0.4 s: the first quarter is there after 0.1 s; the rest at 0.4 s, with 0.09 s left to compute.
  // 0.04 s: there is nothing to wait for after the first 0.01 s.
  EXPECT_NEAR(hidden_seconds(transfers, 0.12, 0.4, 0.0), 0.03, 1e-12);
  EXPECT_NEAR(hidden_seconds(transfers, 0.12, 0.04, 0.0), 0.03, 1e-12);
  // 0.4 s up: the first slice leaves at 0.06 s, and the second follows at once. 0.04 s: the second
  // waits for the end of the computing.
  EXPECT_NEAR(hidden_seconds(transfers, 0.12, 0.0, 0.4), 0.06, 1e-12);
  EXPECT_NEAR(hidden_seconds(transfers, 0.12, 0.0, 0.04), 0.03, 1e-12);
}

TEST(HiddenTransfers, ShortenAllComputingTimes) {
  const Computing computing{{.mean = {0.12, 0.24}, .draws = {{0.12, 0.24}, {0.24, 0.12}}}};
  const Computing left = without_hidden(hidden_transfers(all_weights_in(3)), computing, 1.0, 1.0);
  EXPECT_NEAR(left.front().mean[0], 0.03, 1e-12);
  EXPECT_NEAR(left.front().mean[1], 0.06, 1e-12);
  EXPECT_NEAR(left.front().draws[1][0], 0.06, 1e-12);
}

}  // namespace
}  // namespace outpace::throughput
