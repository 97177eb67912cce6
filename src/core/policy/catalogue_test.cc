#include "policy/catalogue.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "policy/auto_candidates.h"

namespace outpace::policy {
namespace {

std::string refusal(const std::string& spec, std::uint32_t workers) {
  return refusal_of([&] { (void)make_policy(Spec::parse(spec), workers); });
}

std::uint32_t nominal_cutoff(const std::string& spec, std::uint32_t workers) {
  return make_policy(Spec::parse(spec), workers)->nominal_cutoff(workers);
}

TEST(Catalogue, SaysWhatEachPolicyIsAndDocumentsItsOptions) {
  for (const Entry& entry : catalogue()) {
    EXPECT_FALSE(entry.rule.empty() || entry.source.empty() || entry.staleness.empty());
    // Some that `auto` chooses among are of rounds.
    const bool may_keep = !is_asynchronous(Spec{.name = entry.name}) || entry.name == kAuto;
    EXPECT_TRUE(may_keep || !entry.keeps_slots) << entry.name;
  }
}

TEST(Catalogue, TellsWhichPoliciesAreOfRounds) {
  for (const char* spec : {"sync",
                           "backup:2",
                           "dynamic",
                           "ksync:2",
                           "kbatchsync:2",
                           "adasync:k=2,rule=ksync",
                           "adasync:k=2,rule=kbatchsync"}) {
    EXPECT_FALSE(is_asynchronous(Spec::parse(spec))) << spec;
  }
  for (const char* spec : {"async",
                           "kasync:2",
                           "kbatchasync:2",
                           "adasync:2",
                           "softsync:1",
                           "ssp:1",
                           "dssp:1,high=2",
                           "psp:1",
                           "saps"}) {
    EXPECT_TRUE(is_asynchronous(Spec::parse(spec))) << spec;
  }
}

TEST(Catalogue, DrawsWhatEachPolicyAccepts) {
  Rng rng(5, 0);
  for (const Entry& entry : catalogue()) {
    for (std::uint32_t workers = 1; workers <= 40; ++workers) {
      const std::string spec = draw_spec(entry, rng, workers);
      EXPECT_EQ(refusal(spec, workers), "accepted");
      EXPECT_EQ(Spec::parse(spec).name, entry.name);
      EXPECT_NO_THROW((void)promise_of(Spec::parse(spec))) << spec;
    }
  }
}

TEST(Catalogue, TellsWhatMakesAWorkerWait) {
  const auto barrier = [](const char* spec) { return barrier_of(Spec::parse(spec)); };
  EXPECT_EQ(barrier("kasync:k=4"), BarrierKind::kDistinct);
  EXPECT_EQ(barrier("adasync:4,rule=kbatchasync"), BarrierKind::kNone);
  EXPECT_EQ(barrier("saps:action=dampen"), BarrierKind::kNone);
  EXPECT_EQ(barrier("saps"), BarrierKind::kLateOnes);
  EXPECT_EQ(barrier("switch(sync until updates>9 then async)"), BarrierKind::kChanging);
}

TEST(Catalogue, ReadsEveryDocumentedOptionAndNoOther) {
  for (const Entry& entry : catalogue()) {
    if (entry.name == "switch") {
      continue;  // It has a form of its own: switch_spec_test.cc.
    }
    std::string spec = entry.name;
    for (const OptionDoc& option : entry.options) {
      const bool words = option.otherwise.find(' ') != std::string::npos;  // No value: left out.
      const std::string value = option.otherwise.empty() || words ? "2" : option.otherwise;
      spec += (spec == entry.name ? ":" : ",") + option.name + "=" + value;
    }
    EXPECT_EQ(refusal(spec, 4), "accepted");
    const std::string more = spec + (spec == entry.name ? ":" : ",") + "zzzzzz=1";
    EXPECT_NE(refusal(more, 4).find("unknown option 'zzzzzz'"), std::string::npos) << more;
  }
}

TEST(Catalogue, RefusesWhatTheWorkersCannotFill) {
  EXPECT_EQ(refusal("backup:cutoff=9", 8),
            "policy 'backup:cutoff=9': cutoff is '9'; it takes a whole number from 1 to 8");
  EXPECT_EQ(refusal("softsync:n=0", 8),
            "policy 'softsync:n=0': n is '0'; it takes a whole number from 1 to 8");
  EXPECT_EQ(refusal("backup", 8),
            "policy 'backup': cutoff is missing; it takes a whole number from 1 to 8");
  EXPECT_EQ(refusal("saps:s=0", 8),
            "policy 'saps:s=0': s is '0'; it takes a whole number from 1 to 1000000, or a multiple "
            "from 1x to 100x");
  EXPECT_EQ(refusal("saps:s=3,action=wait", 8),
            "policy 'saps:s=3,action=wait': action is 'wait'; it takes "
            "refresh|preempt|shrink|dampen");
}

TEST(Catalogue, RefusesASwitchOfWhatThereIsNot) {
  EXPECT_EQ(refusal("switch(async until updates>9 then ssp:s=1)", 8), "accepted");
  EXPECT_EQ(refusal("switch(async until updates>9 then sink)", 8),
            "unknown policy 'sink'; did you mean 'sync'?");
  EXPECT_EQ(refusal("switch(backup:cutoff=9 until updates>9 then sync)", 8),
            "policy 'backup:cutoff=9': cutoff is '9'; it takes a whole number from 1 to 8");
  EXPECT_EQ(refusal("switch", 8),
            "policy 'switch': until is missing; it takes switch(POLICY until CONDITION then "
            "POLICY)");
  EXPECT_EQ(nominal_cutoff("switch(backup:cutoff=6 until updates>9 then async)", 8), 6U);
}

TEST(Catalogue, SaysWhetherAFittedModelIsOfUse) {
  for (const char* spec : {"dynamic",
                           "dynamic:deep",
                           "dynamic:model=auto,decide=before",
                           "switch(sync until updates>9 then dynamic:decide=before,model=deep)"}) {
    EXPECT_TRUE(uses_fitted_model(Spec::parse(spec))) << spec;
  }
  for (const char* spec : {"sync",
                           "dynamic:ewma",
                           "dynamic:decide=before,model=elfving",
                           "switch(sync until updates>9 then dynamic:last)"}) {
    EXPECT_FALSE(uses_fitted_model(Spec::parse(spec))) << spec;
  }
}

TEST(Catalogue, NamesTheNearestPolicy) {
  EXPECT_EQ(refusal("asink", 8), "unknown policy 'asink'; did you mean 'async'?");
}

TEST(Catalogue, TakesALoneValueForTheFirstOption) {
  EXPECT_EQ(nominal_cutoff("backup:6", 8), 6U);
  EXPECT_EQ(refusal("saps:8,action=dampen", 8), "accepted");
  EXPECT_TRUE(weighs_staleness_itself(Spec::parse("saps:8,action=dampen")));
}

TEST(Catalogue, KnowsHowManyGradientsATypicalUpdateHas) {
  EXPECT_EQ(nominal_cutoff("sync", 8), 8U);
  EXPECT_EQ(nominal_cutoff("backup:cutoff=6", 8), 6U);
  EXPECT_EQ(nominal_cutoff("softsync:n=4", 30), 7U);
  EXPECT_EQ(nominal_cutoff("softsync:n=1", 30), 30U);
  EXPECT_EQ(nominal_cutoff("async", 8), 1U);
  EXPECT_EQ(nominal_cutoff("ssp:s=3", 8), 1U);
  EXPECT_EQ(nominal_cutoff("saps:s=3", 8), 1U);
}

TEST(Catalogue, OnlyDampenWeighsStalenessItself) {
  EXPECT_TRUE(weighs_staleness_itself(Spec::parse("saps:s=8,action=dampen")));
  EXPECT_FALSE(weighs_staleness_itself(Spec::parse("saps:s=8,action=shrink")));
  EXPECT_FALSE(weighs_staleness_itself(Spec::parse("saps:s=8")));
  EXPECT_FALSE(weighs_staleness_itself(Spec::parse("async")));
  EXPECT_TRUE(weighs_staleness_itself(
      Spec::parse("switch(async until updates>9 then saps:s=8,action=dampen)")));
}

}  // namespace
}  // namespace outpace::policy
