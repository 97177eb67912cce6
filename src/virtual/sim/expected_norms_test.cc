#include "sim/expected_norms.h"

#include <vector>

#include <gtest/gtest.h>

#include "policy/gradient_noise.h"
#include "policy/policy.h"

namespace outpace::sim {
namespace {

constexpr double kPhi = 12.5;

// What an update gives.
std::optional<server::MeasuredNorms> update_of(ExpectedNorms& norms,
                                               std::uint32_t gradients,
                                               std::uint64_t version,
                                               bool asked = true) {
  for (std::uint32_t i = 0; i < gradients; ++i) {
    EXPECT_FALSE(norms.see(server::Accept{WorkerId{i}, Sequence{version}, 1.0, 32}));
  }
  server::StepWeights step{.rate = 0.1};
  if (asked) {
    step.norms_for = Version{version};
  }
  return norms.see(step);
}

TEST(ExpectedNorms, APolicyFindsTheNoiseScaleThatTheyAreOf) {
  ExpectedNorms norms(kPhi);
  policy::GradientNoise noise;
  std::uint64_t version = 0;
  for (const std::uint32_t gradients : {8U, 3U, 5U, 2U, 8U}) {
    const auto found = update_of(norms, gradients, ++version);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->version, Version{version});
    EXPECT_EQ(found->norms.gradients, gradients);
    noise.hear(found->norms.mean, found->norms.single, gradients);
  }
  EXPECT_NEAR(noise.scale(1.0).value_or(0.0), kPhi, 1e-9);
}

TEST(ExpectedNorms, LoneGradientsAreMeasuredInGroups) {
  ExpectedNorms norms(kPhi);
  std::vector<std::uint64_t> measured;
  for (std::uint64_t version = 1; version <= 3 * policy::kNormGroup; ++version) {
    if (const auto found = update_of(norms, 1, version)) {
      measured.push_back(version);
      EXPECT_EQ(found->norms.gradients, policy::kNormGroup);
      EXPECT_DOUBLE_EQ(found->norms.mean * found->norms.mean, 1.0 + kPhi / policy::kNormGroup);
    }
  }
  EXPECT_EQ(measured, (std::vector<std::uint64_t>{8, 16, 24}));
}

TEST(ExpectedNorms, NobodyHearsOfNormsThatNobodyAskedFor) {
  ExpectedNorms norms(kPhi);
  EXPECT_FALSE(update_of(norms, 4, 1, false).has_value());
  EXPECT_EQ(update_of(norms, 2, 2)->norms.gradients, 2U) << "of this update alone";
  EXPECT_FALSE(norms.see(server::Forget{WorkerId{0}}).has_value());
  EXPECT_FALSE(update_of(norms, 0, 3).has_value());
}

}  // namespace
}  // namespace outpace::sim
