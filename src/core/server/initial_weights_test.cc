#include "server/initial_weights.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

TEST(InitialWeights, AreAsManyAsTheNetworkHasAndFinite) {
  const protocol::Manifest network{
      .tensors = {{.name = "slope", .shape = {2}}, {.name = "offset", .shape = {}}}};
  const auto why = [&](const std::vector<float>& weights) { return why_unfit(network, weights); };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(why({1, -2, 0}), "");
  EXPECT_EQ(why({1, 2}), "2 numbers came, the network has 3");
  EXPECT_EQ(why({1, kNan, 0}),
            "tensor 'slope' has a number that is not finite (NaN at position 1)");
  EXPECT_EQ(why({1, 2, -kInfinity}),
            "tensor 'offset' has a number that is not finite (infinity at position 0)");
}

TEST(InitialWeights, OfABufferThatIsPassedOnMayBeAnything) {
  const protocol::Manifest network{
      .tensors = {{.name = "slope", .shape = {1}}, {.name = "mask", .shape = {1}}}};
  const protocol::Script script{
      .groups = {{.method = protocol::Method::kSgd}, {.method = protocol::Method::kNewest}},
      .group_of = {0, 1}};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(why_unfit(network, std::vector<float>{1, -kInfinity}, script), "");
  EXPECT_EQ(why_unfit(network, std::vector<float>{kInfinity, 0}, script),
            "tensor 'slope' has a number that is not finite (infinity at position 0)");
}

}  // namespace
}  // namespace outpace::server
