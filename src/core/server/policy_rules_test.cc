#include "server/policy_rules.h"

#include <string>

#include <gtest/gtest.h>

#include "base/kept_test.h"
#include "base/refusal_test.h"
#include "policy/catalogue.h"

namespace outpace::server {
namespace {

PolicyRules rules_of(const std::string& policy, const std::string& given = "") {
  std::optional<update::StalenessRule> rule;
  if (!given.empty()) {
    rule = update::StalenessRule::parse(Spec::parse(given));
  }
  return PolicyRules(Spec::parse(policy), rule);
}

TEST(PolicyRules, AreThoseOfThePolicy) {
  for (const char* fresh : {"sync", "backup:cutoff=2", "dynamic", "kbatchsync:k=2"}) {
    EXPECT_EQ(rules_of(fresh).staleness().name(), "none") << fresh;
    EXPECT_FALSE(rules_of(fresh).asynchronous()) << fresh;
  }
  for (const char* stale : {"async", "ssp:s=1", "psp:beta=2", "saps:s=4", "softsync:n=2"}) {
    EXPECT_EQ(rules_of(stale).staleness().name(), "share") << stale;
    EXPECT_TRUE(rules_of(stale).asynchronous()) << stale;
  }
  EXPECT_EQ(rules_of("saps:s=4,action=dampen").staleness().name(), "none");
  EXPECT_TRUE(rules_of("saps:s=4,action=dampen").asynchronous());
  EXPECT_EQ(rules_of("adasync:k=2").staleness().name(), "inverse");
  EXPECT_EQ(rules_of("adasync:k=2,rule=ksync").staleness().name(), "none");
  EXPECT_FALSE(rules_of("adasync:k=2,rule=ksync").asynchronous());
}

TEST(PolicyRules, ChangeAtTheSeamAndNotBefore) {
  PolicyRules rules = rules_of("switch(sync until updates>5 then ssp:s=1)");
  EXPECT_EQ(rules.staleness().name(), "none");
  rules.switch_to(1);
  EXPECT_EQ(rules.staleness().name(), "share");
  rules.set("sync");
  EXPECT_EQ(rules.staleness().name(), "share");
  rules.switch_to(0);
  EXPECT_EQ(rules.staleness().name(), "none");
}

TEST(PolicyRules, AreNoneWithoutAPolicy) {
  const PolicyRules rules(std::nullopt, std::nullopt);
  EXPECT_EQ(rules.staleness().name(), "none");
  EXPECT_FALSE(rules.asynchronous());
  EXPECT_FALSE(rules.misfit().has_value());
}

TEST(PolicyRules, SayWhereARuleThatWasGivenDoesNotFit) {
  for (const auto& [policy, given] : {std::pair{"async", "none"},
                                      {"async", "dcasgd"},
                                      {"ssp:s=0", "inverse"},
                                      {"sync", "consgd"},
                                      {"saps:s=4,action=dampen", "inverse"}}) {
    const PolicyRules rules = rules_of(policy, given);
    EXPECT_EQ(rules.staleness().name(), given);
    EXPECT_TRUE(rules.misfit().has_value()) << policy << ", " << given;
  }
  for (const auto& [policy, given] : {std::pair{"async", "inverse"},
                                      {"async", "gap"},
                                      {"ssp:s=0", "consgd"},
                                      {"psp:beta=2", "share"},
                                      {"sync", "none"},
                                      {"sync", "inverse"},
                                      {"saps:s=4,action=dampen", "none"}}) {
    EXPECT_FALSE(rules_of(policy, given).misfit().has_value()) << policy << ", " << given;
  }
  EXPECT_FALSE(rules_of("async").misfit().has_value());
}

TEST(PolicyRules, AFilterHasToSuitEveryPhase) {
  const auto refusal = [](const std::string& filter, const std::string& policy) {
    return refusal_of([&] {
      check_filter(update::FilterRule::parse(Spec::parse(filter)),
                   Spec::parse(policy),
                   {.first = 8, .most = 16},
                   {},
                   update::StalenessRule::none());
    });
  };
  EXPECT_EQ(refusal("median", "sync"), "accepted");
  EXPECT_EQ(refusal("none", "auto"), "accepted");
  EXPECT_EQ(refusal("median", "backup:cutoff=12"), "accepted") << "when more workers have come";
  EXPECT_EQ(refusal("median", "switch(sync until updates>5 then backup:cutoff=6)"), "accepted");
  EXPECT_EQ(refusal("kardam:f=2", "switch(async until updates>5 then ssp:s=3)"), "accepted");
  EXPECT_EQ(refusal("median", "auto"),
            "--filter median beside --policy auto (saps): its updates are of 1 gradient, and this "
            "filter takes at least 3; kardam filters single gradients");
  EXPECT_NE(refusal("median", "switch(sync until updates>5 then async)").find("(async): its"),
            std::string::npos);
  EXPECT_NE(refusal("kardam:f=2", "switch(async until updates>5 then sync)").find("(sync): kardam"),
            std::string::npos);
}

TEST(PolicyRules, AreKeptWhileAnotherPolicyComes) {
  PolicyRules kept = rules_of("async");
  kept.set("switch(sync until updates>5 then ssp:s=1)");
  PolicyRules read = rules_of("async");
  copy_kept(kept, read);
  EXPECT_EQ(read.staleness().name(), "share");
  read.switch_to(0);
  EXPECT_EQ(read.staleness().name(), "none");
}

}  // namespace
}  // namespace outpace::server
