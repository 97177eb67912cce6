#include "update/correction.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "update/correction_twin_test.h"
#include "update/optimizer.h"

namespace outpace::update {
namespace {

TEST(Correction, IsThereForTheRulesThatAreNoWeight) {
  for (const char* name : {"none", "inverse", "exponential", "polynomial"}) {
    EXPECT_EQ(make_correction(rule(name), 1), nullptr) << name;
  }
  for (const char* name : {"dynsgd", "gap", "dcasgd", "dcasgd:adaptive"}) {
    EXPECT_NE(make_correction(rule(name), 1), nullptr) << name;
    EXPECT_EQ(rule(name).weight(1000, {.live = 8}), 1.0) << name;
  }
}

TEST(Correction, LeavesAWorkersFirstGradientOfThePresentWeightsAsItIs) {
  for (const StalenessDoc& doc : staleness_rules()) {
    if (const auto correction = make_correction(rule(doc.name), 2)) {
      correction->released(WorkerId{3}, shared({1, 2}));
      EXPECT_EQ(corrected(*correction, 3, {5, -7}, {1, 2}), (Numbers{5, -7})) << doc.name;
    }
  }
}

TEST(Correction, IsNoMatchForAnOptimizerThatUndoesIt) {
  for (const OptimizerDoc& doc : optimizers()) {
    const Spec spec = Spec::parse(doc.name);
    const bool undoes = make_optimizer(spec, 1)->scale_invariant();
    for (const char* name : {"none", "inverse", "dcasgd"}) {
      EXPECT_NO_THROW(check_suits(rule(name), spec, undoes)) << name << ", " << doc.name;
    }
    for (const char* name : {"gap", "dynsgd"}) {
      if (undoes) {
        EXPECT_THROW(check_suits(rule(name), spec, undoes), Error) << name << ", " << doc.name;
      } else {
        EXPECT_NO_THROW(check_suits(rule(name), spec, undoes)) << name << ", " << doc.name;
      }
    }
  }
}

TEST(Correction, SaysWhatWouldSuit) {
  try {
    check_suits(rule("gap"), Spec::parse("adam:beta1=0.5"), true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_STREQ(error.what(),
                 "--staleness gap beside --optimizer adam:beta1=0.5: this optimizer undoes any "
                 "scale of the gradient; take sgd, momentum or nesterov, or another rule");
  }
}

TEST(Correction, RefusesOptionsThatAreWrong) {
  const auto refusal = [](const std::string& spec) -> std::string {
    try {
      (void)rule(spec);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal("gap:m=1"),
            "staleness rule 'gap:m=1': m is '1'; it takes a number from 0 to 0.999999");
  EXPECT_EQ(refusal("dcasgd:lambda=-1"),
            "staleness rule 'dcasgd:lambda=-1': lambda is '-1'; it takes a number from 0 to 1e+06");
  EXPECT_EQ(refusal("dcasgd:form=adaptiv"),
            "staleness rule 'dcasgd:form=adaptiv': form is 'adaptiv'; it takes "
            "constant|adaptive");
  EXPECT_EQ(refusal("dcasgd:m=0.5"),
            "staleness rule 'dcasgd:m=0.5': unknown option 'm'; known: form, lambda");
  EXPECT_EQ(refusal("dynsgd:1"), "staleness rule 'dynsgd:1': unknown option '1'; it takes none");
}

}  // namespace
}  // namespace outpace::update
