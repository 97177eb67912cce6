#include "throughput/efficiency.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

// Steps to a loss: of batches M they are S (1 + phi / M), so that examples are S (M + phi).
TEST(Efficiency, IsTheRatioOfTheExamplesThatTheLossTakes) {
  constexpr double kNoise = 850.0;
  const auto examples = [](double batch) { return 1000.0 * (1.0 + kNoise / batch) * batch; };
  for (const double batch : {8.0, 32.0, 256.0, 1e4}) {
    EXPECT_NEAR(
        efficiency(kNoise, {.mixed = batch, .first = 32}), examples(32) / examples(batch), 1e-12)
        << batch;
  }
}

// A run whose updates mix 96 took 5,000 examples.
TEST(Efficiency, TellsTheExamplesThatAnotherClusterTakes) {
  const policy::Reached reached{.what = "84.0 %", .seconds = 10, .examples = 5000, .mixed = 96};
  EXPECT_NEAR(examples_to(reached, 104, 96), 5000, 1e-9);
  EXPECT_NEAR(examples_to(reached, 104, 296), 10000, 1e-9) << "(104 + 296) / (104 + 96)";
}

TEST(Efficiency, OfMoreNoiseLargeUpdatesCostLess) {
  EXPECT_LT(efficiency(10, {.mixed = 320, .first = 32}), 0.13);
  EXPECT_GT(efficiency(1e6, {.mixed = 320, .first = 32}), 0.999);
}

CoarseCluster served(Barrier barrier) {
  return {.topology = Topology::kServer,
          .barrier = barrier,
          .served = {.fixed_seconds = 0.0,
                     .link_seconds = 0.0,
                     .own_link_seconds = 0.0,
                     .apply_seconds = 0.0},
          .ring = {}};
}

TEST(Efficiency, MixesWhatIsInFlight) {
  // Three workers take 0.1 s, the fourth 1 s: three gradients a round are the most a second.
  const Computing computing =
      draw_computing(1, 1, 4, [](std::size_t /*p*/, std::size_t /*d*/, std::uint32_t worker) {
        return worker == 3 ? 1.0 : 0.1;
      });
  EXPECT_EQ(mixed_gradients(served({BarrierKind::kCutoff, 2}), computing), 2.0);
  EXPECT_EQ(mixed_gradients(served({BarrierKind::kRestarting, 2}), computing), 2.0);
  EXPECT_EQ(mixed_gradients(served({BarrierKind::kBestCutoff}), computing), 3.0);
  EXPECT_NEAR(mixed_gradients(served({BarrierKind::kNone}), computing),
              1.0 + std::sqrt(30.0 * 3.0),  // 31 updates in the slow worker's second.
              1e-9);
  EXPECT_EQ(mixed_gradients(served({BarrierKind::kBoundedStaleness}), computing), 4.0);
  CoarseCluster ring = served({BarrierKind::kNone});
  ring.topology = Topology::kRing;
  EXPECT_EQ(mixed_gradients(ring, computing), 4.0);
}

}  // namespace
}  // namespace outpace::throughput
