#include "policy/catalogue.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::policy {
namespace {

std::string refusal(const std::string& spec, std::uint32_t workers) {
  return refusal_of([&] { (void)make_policy(Spec::parse(spec), workers); });
}

std::uint32_t nominal_cutoff(const std::string& spec, std::uint32_t workers) {
  return make_policy(Spec::parse(spec), workers)->nominal_cutoff(workers);
}

TEST(Catalogue, TellsEachPolicysNatureAndDocumentsItsOptions) {
  std::string asynchronous;
  std::string keeps_slots;
  for (const Entry& entry : catalogue()) {
    asynchronous += entry.asynchronous ? entry.name + " " : "";
    keeps_slots += entry.keeps_slots ? entry.name + " " : "";
    EXPECT_FALSE(entry.rule.empty() || entry.source.empty());
  }
  EXPECT_EQ(asynchronous, "async kasync kbatchasync adasync softsync ssp dssp psp saps switch ");
  EXPECT_EQ(keeps_slots, "sync backup dynamic ksync ");
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
                           "dynamic:decide=before,model=kalman",
                           "switch(sync until updates>9 then dynamic:last)"}) {
    EXPECT_FALSE(uses_fitted_model(Spec::parse(spec))) << spec;
  }
}

TEST(Catalogue, MakesADeepCutoffOfWeightsAlone) {
  EXPECT_NE(refusal("dynamic:deep", 8).find("'deep' needs a file"), std::string::npos);
  runtime_model::DeepWeights weights;
  for (const runtime_model::DeepTensor& tensor : runtime_model::deep_tensors(weights.shape)) {
    weights.numbers.resize(weights.numbers.size() + tensor.numbers(), 0.0F);
  }
  const auto fitted = std::make_shared<const runtime_model::DeepWeights>(weights);
  for (const char* spec : {"dynamic:deep", "switch(sync until updates>9 then dynamic:deep)"}) {
    EXPECT_EQ(make_policy(Spec::parse(spec), 8, {.fitted = fitted})->nominal_cutoff(8), 8U) << spec;
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
