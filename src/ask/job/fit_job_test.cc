#include "job/fit_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

TEST(FitJob, TakesSeveralFilesOfRuntimes) {
  Declared<FitJob> fit;
  fit.give("runtimes", std::vector<std::string>{"a.csv", "b.csv"}).give("out", "m.safetensors");
  EXPECT_EQ(fit.job.runtimes, (std::vector<std::string>{"a.csv", "b.csv"}));
  EXPECT_EQ(fit.job.updates, 2000);
  fit.options.check_required("fit");
  check(fit.job);
}

TEST(FitJob, FitsTheDeepModelAlone) {
  Declared<FitJob> fit;
  fit.give("model", "ewma");
  EXPECT_EQ(
      refusal_of([&] { check(fit.job); }),
      "--model is 'ewma'; it takes deep or deep-joint, for the other models learn during the run");
}

TEST(FitJob, MakesAMillionUpdatesAtMost) {
  Declared<FitJob> fit;
  for (const char* wrong : {"0", "1000001", "many"}) {
    EXPECT_EQ(
        refusal_of([&] { fit.give("updates", wrong); }),
        "--updates is '" + std::string(wrong) + "'; it takes a whole number from 1 to 1000000");
  }
}

}  // namespace
}  // namespace outpace::job
