#include "throughput/packing_costs.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

constexpr double kPayload = 4e6;  // A million numbers, in 15,625 blocks of 64.

PackingCosts costs_of(const std::string& gradients,
                      const std::string& weights,
                      std::optional<double> rate = {}) {
  return packing_costs(
      {.gradients = Spec::parse(gradients), .weights = Spec::parse(weights), .rate = rate},
      kPayload);
}

TEST(PackingCosts, AreNoneWhereNothingIsPacked) {
  const PackingCosts costs = costs_of("none", "none");
  EXPECT_EQ(costs.gradient_share, 1.0);
  EXPECT_EQ(costs.weights_share, 1.0);
  EXPECT_EQ(costs.worker_seconds, 0.0);
  EXPECT_EQ(costs.server_seconds(), 0.0);
  EXPECT_EQ(costs.words(), "");
}

TEST(PackingCosts, AreBytesAndTime) {
  const PackingCosts costs = costs_of("int8", "bf16", 2.0);  // 2 ms for 4 MB.
  EXPECT_DOUBLE_EQ(costs.gradient_share, (1e6 + 2 * 15'625) / 4e6);
  EXPECT_DOUBLE_EQ(costs.weights_share, 0.5);
  EXPECT_DOUBLE_EQ(costs.worker_seconds, 0.004);
  EXPECT_DOUBLE_EQ(costs.gradient_seconds, 0.002);
  EXPECT_DOUBLE_EQ(costs.weights_seconds, 0.002);
  EXPECT_DOUBLE_EQ(costs.shared_by(4).server_seconds(), 0.0025);
  EXPECT_EQ(costs.words(),
            "a gradient takes 25.8 % of its bytes as float32, and the weights 50 %; packing "
            "costs a worker 4 ms an iteration, and the server 2 ms a gradient and "
            "2 ms for weights");
}

TEST(PackingCosts, WithoutAServerAreOfWhatWorkersSendEachOther) {
  const PackingCosts costs = costs_of("int8", "none", 2.0);
  EXPECT_DOUBLE_EQ(costs.ring_seconds(4), 0.002 + 1.75 * 0.002);
  EXPECT_EQ(costs.ring_seconds(1), 0.0);  // It sends nothing.
  EXPECT_DOUBLE_EQ(costs.meeting_seconds(), 0.006);
  EXPECT_EQ(costs.words(/*server=*/false),
            "what workers send each other takes 25.8 % of its bytes as float32; to pack a whole "
            "payload takes 2 ms, and to unpack it 2 ms");
}

TEST(PackingCosts, GoByTheRatesOfTheProfile) {
  const PackingRates measured{.gradients = {{"int8", {1.0, 4.0}}}, .weights = {}};
  const auto costs = [&](std::optional<double> rate) {
    return packing_costs(
        {.gradients = Spec::parse("int8"), .weights = Spec::parse("none"), .rate = rate},
        kPayload,
        measured);
  };
  EXPECT_DOUBLE_EQ(costs({}).worker_seconds, 0.004);
  EXPECT_DOUBLE_EQ(costs({}).gradient_seconds, 0.001);
  EXPECT_DOUBLE_EQ(costs(2.0).worker_seconds, 0.002);  // As the user says.
}

// 245 chunks: two bytes of count and a bit for each number, beside the numbers as bf16.
TEST(PackingCosts, TakeEveryNumberOfADeltaToChange) {
  const PackingCosts costs = costs_of("none", "delta");
  EXPECT_NEAR(costs.weights_share, (2e6 + 2 * 245 + 125e3) / 4e6, 1e-6);
  EXPECT_NE(costs.words().find("the weights 53.1 %, if all of them change; "), std::string::npos);
}

TEST(PackingCosts, AreMeasuredForEachFormat) {
  for (const char* const format : {"bf16", "fp16", "int8", "int4", "topk:share=0.01,bits=2"}) {
    const PackingCosts costs = costs_of(format, "none");
    EXPECT_GT(costs.worker_seconds, costs.gradient_seconds) << format;  // It packs, which is more.
    EXPECT_GT(costs.gradient_seconds, 0.0) << format;
    EXPECT_EQ(costs.weights_seconds, 0.0) << format;
  }
  for (const char* const format : {"bf16", "int8", "delta"}) {
    const PackingCosts costs = costs_of("none", format);
    EXPECT_GT(costs.weights_seconds, costs.worker_seconds) << format;
    EXPECT_EQ(costs.gradient_seconds, 0.0) << format;
  }
}

}  // namespace
}  // namespace outpace::throughput
