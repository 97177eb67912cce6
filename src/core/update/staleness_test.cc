#include "update/staleness.h"

#include <cstdint>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "update/correction_twin_test.h"

namespace outpace::update {
namespace {

constexpr StalenessRule::Round kLive{.live = 8};

std::string rule_refusal(const std::string& spec) {
  return refusal_of([&] { std::ignore = rule(spec); });
}

TEST(Staleness, HasTheWeightsOfItsEquations) {
  EXPECT_EQ(rule("none").weight(1000, kLive), 1.0);
  EXPECT_EQ(StalenessRule::none().weight(7, kLive), 1.0);
  // Zhang et al. 2016: tau = 0 and tau = 1 both give alpha_0.
  EXPECT_EQ(rule("inverse").weight(1, kLive), 1.0);
  EXPECT_EQ(rule("inverse").weight(2, kLive), 0.5);
  EXPECT_EQ(rule("inverse").weight(8, kLive), 0.125);
  EXPECT_NEAR(rule("exponential").weight(5, kLive), 0.36787944117, 1e-11);  // exp(-1)
  EXPECT_NEAR(rule("exponential:rate=0.5").weight(4, kLive), 0.13533528324, 1e-11);
  EXPECT_NEAR(rule("polynomial").weight(3, kLive), 0.5, 1e-15);  // 1 / sqrt(4)
  EXPECT_NEAR(rule("polynomial:power=2").weight(4, kLive), 0.04, 1e-15);
}

TEST(Staleness, ConSgdSharesAStepAmongTheLiveWorkers) {
  for (const std::uint64_t tau : {0U, 1U, 7U}) {
    EXPECT_EQ(rule("consgd").weight(tau, {.live = 1}), 1.0);
    EXPECT_EQ(rule("consgd").weight(tau, {.live = 4}), 0.25);
  }
}

TEST(Staleness, AShareIsOfARoundAndFallsBeyondIt) {
  const StalenessRule share = rule("share");
  // Eight updates of one gradient move the weights as far as one update of all eight.
  EXPECT_EQ(share.weight(0, {.live = 8}), 0.125);
  EXPECT_EQ(share.weight(8, {.live = 8}), 0.125);
  EXPECT_EQ(share.weight(16, {.live = 8}), 0.0625);
  // So do two updates of four.
  EXPECT_EQ(share.weight(1, {.live = 8, .gradients = 4}), 0.5);
  EXPECT_EQ(share.weight(4, {.live = 8, .gradients = 4}), 0.25);
  // An update of all, and one of more than are live, counts in full.
  EXPECT_EQ(share.weight(0, {.live = 8, .gradients = 8}), 1.0);
  EXPECT_EQ(share.weight(0, {.live = 3, .gradients = 8}), 1.0);
  EXPECT_EQ(share.weight(0, {.live = 1}), 1.0);
}

TEST(Staleness, IsTheIdentityAtTauZeroButForAShareOfARound) {
  for (const StalenessDoc& doc : staleness_rules()) {
    if (doc.name == "consgd" || doc.name == "share") {
      continue;
    }
    EXPECT_EQ(rule(doc.name).weight(0, kLive), 1.0) << doc.name;
  }
  EXPECT_EQ(rule("exponential:rate=1000").weight(0, kLive), 1.0);
  EXPECT_EQ(rule("polynomial:power=1000").weight(0, kLive), 1.0);
}

TEST(Staleness, NeverRisesWithTauAndNeverVanishes) {
  for (const char* spec : {"none",
                           "inverse",
                           "consgd",
                           "share",
                           "exponential",
                           "exponential:rate=0",
                           "exponential:rate=1000",
                           "polynomial",
                           "polynomial:power=0",
                           "polynomial:power=1000"}) {
    const StalenessRule weigh = rule(spec);
    double last = 1.0;
    for (std::uint64_t tau = 0; tau < 10000; ++tau) {
      const double weight = weigh.weight(tau, kLive);
      ASSERT_GT(weight, 0.0) << spec << " at " << tau;
      ASSERT_LE(weight, last) << spec << " at " << tau;
      last = weight;
    }
    EXPECT_LE(weigh.weight(UINT64_MAX, kLive), last) << spec;
    EXPECT_GT(weigh.weight(UINT64_MAX, kLive), 0.0) << spec;
  }
}

TEST(Staleness, IsMadeFromItsOwnDescription) {
  for (const StalenessDoc& doc : staleness_rules()) {
    const std::string full = doc.name + (doc.options.empty() ? "" : ":" + doc.options);
    EXPECT_EQ(rule(full).weight(9, kLive), rule(doc.name).weight(9, kLive)) << doc.name;
    EXPECT_FALSE(doc.rule.empty());
    EXPECT_FALSE(doc.source.empty());
  }
}

TEST(Staleness, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(rule_refusal("invers"), "unknown staleness rule 'invers'; did you mean 'inverse'?");
  EXPECT_EQ(rule_refusal("polynomial:power=-1"),
            "staleness rule 'polynomial:power=-1': power is '-1'; it takes a number from 0 to "
            "1000");
  EXPECT_EQ(rule_refusal("exponential:rat=1"),
            "staleness rule 'exponential:rat=1': unknown option 'rat'; did you mean 'rate'?");
  EXPECT_EQ(rule_refusal("inverse:2"),
            "staleness rule 'inverse:2': unknown option '2'; it takes none");
}

}  // namespace
}  // namespace outpace::update
