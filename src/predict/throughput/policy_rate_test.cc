#include "throughput/policy_rate.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::throughput {
namespace {

double rate_of(const char* policy, const std::vector<double>& seconds) {
  return policy_rate({.policy = Spec::parse(policy),
                      .workers = static_cast<std::uint32_t>(seconds.size()),
                      .seconds = [&](std::uint32_t w, std::uint64_t) { return seconds[w]; },
                      .gradients = 4000});
}

TEST(PolicyRate, IsWhatConstantRuntimesMakeOfThePolicy) {
  const std::vector<double> one_slow{0.1, 0.1, 0.1, 0.4};
  EXPECT_NEAR(rate_of("async", one_slow), 32.5, 0.1);
  EXPECT_NEAR(rate_of("sync", one_slow), 4 / 0.4, 0.01);
  EXPECT_NEAR(rate_of("backup:cutoff=3", one_slow), 3 / 0.1, 0.1);
  // The three fast workers go on without the slow one, which comes in every second update at least.
  EXPECT_NEAR(rate_of("kasync:k=4", one_slow), 4 / 0.4, 0.01);
  EXPECT_GT(rate_of("kasync:k=3", one_slow), 27.0);
  // All wait for the slowest in the end.
  EXPECT_NEAR(rate_of("ssp:s=3", one_slow), 4 / 0.4, 0.1);
  EXPECT_NEAR(rate_of("psp:beta=1", one_slow), 4 / 0.4, 1.0);
}

TEST(PolicyRate, KnowsTheUpdatesOfKWorkersWithExponentialRuntimes) {
  // No memory: an update takes as long as the k-th of eight fresh runtimes (Dutta et al., 2018).
  constexpr double kMean = 0.1;
  const double rate = policy_rate({.policy = Spec::parse("kasync:k=4"),
                                   .workers = 8,
                                   .seconds =
                                       [](std::uint32_t w, std::uint64_t i) {
                                         Rng rng(1, (std::uint64_t{w} << 32U) + i);
                                         return kMean * rng.exponential();
                                       },
                                   .gradients = 40'000});
  EXPECT_NEAR(rate, 4 / (kMean * (1 / 8.0 + 1 / 7.0 + 1 / 6.0 + 1 / 5.0)), 1.0);
}

TEST(PolicyRate, CountsAPartialGradientByItsPart) {
  // The slow worker is interrupted when the others have made some six updates.
  const double rate = rate_of("saps:s=6,action=preempt", {0.1, 0.1, 0.1, 10.0});
  EXPECT_NEAR(rate, 30.1, 0.3);
  EXPECT_NEAR(rate_of("saps:s=6,action=refresh", {0.1, 0.1, 0.1, 10.0}), 30.0, 0.1);
}

}  // namespace
}  // namespace outpace::throughput
