#include "job/cutoff_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

using runtime_model::Cut;
using runtime_model::Decide;
using runtime_model::Imputation;

TEST(CutoffJob, ReadsItsWords) {
  Declared<CutoffJob> cutoff;
  cutoff.give("models", "ewma,last")
      .give("decide", "during,before")
      .give("cut", "finish")
      .give("late", "ignore")
      .give("imputation", "plain,true")
      .give("deciding", "free");
  EXPECT_EQ(cutoff.job.models, (std::vector<std::string>{"ewma", "last"}));
  EXPECT_EQ(cutoff.job.decide, (std::vector{Decide::kDuring, Decide::kBefore}));
  EXPECT_EQ(cutoff.job.cut, Cut::kFinish);
  EXPECT_EQ(cutoff.job.late, Late::kIgnore);
  EXPECT_EQ(cutoff.job.imputation, (std::vector{Imputation::kPlain, Imputation::kTrue}));
  EXPECT_EQ(cutoff.job.deciding, Deciding::kFree);
  check(cutoff.job);
}

TEST(CutoffJob, RefusesOtherWords) {
  Declared<CutoffJob> cutoff;
  EXPECT_EQ(refusal_of([&] { cutoff.give("decide", "befor"); }),
            "--decide is 'befor'; it takes before, deadline or during; did you mean 'before'?");
  EXPECT_EQ(refusal_of([&] { cutoff.give("cut", "end"); }),
            "--cut is 'end'; it takes cancel or finish");
  EXPECT_EQ(refusal_of([&] { cutoff.give("late", "never"); }),
            "--late is 'never'; it takes correct or ignore");
  EXPECT_EQ(
      refusal_of([&] { cutoff.give("imputation", "plane"); }),
      "--imputation is 'plane'; it takes none, truncated, plain or true; did you mean 'plain'?");
}

TEST(CutoffJob, JudgesSomeOfTheIterations) {
  CutoffJob job;
  job.fit_fraction = 1.0;
  EXPECT_EQ(refusal_of([&] { check(job); }),
            "--fit-fraction is 1; it takes a number from 0 to less than 1");
  job.fit_fraction = 0.0;
  check(job);
}

TEST(CutoffJob, IgnoresLateRuntimesOnlyWhereTheyCome) {
  CutoffJob job;
  job.late = Late::kIgnore;
  EXPECT_EQ(refusal_of([&] { check(job); }),
            "--late ignore conflicts with --cut cancel: nothing comes late; say --cut finish");
}

TEST(CutoffJob, PlotsFromARowOnlyIntoAPlot) {
  CutoffJob job;
  job.plot_from = 30;
  EXPECT_EQ(refusal_of([&] { check(job); }),
            "--plot-from without --plot: nothing is drawn; add --plot FILE.svg");
}

TEST(CutoffJob, FitsTheDeepModelsOfWhichThereIsNoFile) {
  CutoffJob job;
  EXPECT_TRUE(models_to_fit(job, {}).empty());
  job.models.emplace_back("deep-joint");
  job.models.emplace_back("deep");
  EXPECT_EQ(models_to_fit(job, {}), (std::vector<std::string>{"deep", "deep-joint"}));
  const runtime_model::DeepWeights joint{.shape = runtime_model::joint_shape(4), .numbers = {}};
  EXPECT_EQ(models_to_fit(job, std::span(&joint, 1)), std::vector<std::string>{"deep"});
}

TEST(CutoffJob, RefusesAModelFileThatNothingUses) {
  CutoffJob job;
  job.models = {"auto", "deep-joint"};
  job.model_files = {"one", "other"};
  using runtime_model::DeepWeights;
  const DeepWeights deep{.shape = {}, .numbers = {}};
  const DeepWeights joint{.shape = runtime_model::joint_shape(4), .numbers = {}};
  check_files(job, std::vector{deep, joint}, 4);
  EXPECT_EQ(
      refusal_of([&] {
        check_files(job, std::vector{deep, joint}, 8);
      }),
      "--model-file: 'other' was fitted to 4 workers, and the runtimes have 8; give a file that "
      "was fitted to this cluster");
  EXPECT_EQ(refusal_of([&] {
              check_files(job, std::vector{joint, joint}, 4);
            }),
            "--model-file: 'other' has weights of deep-joint, as 'one' has; give one of them");
  job.models = {"deep-joint"};
  EXPECT_EQ(
      refusal_of([&] {
        check_files(job, std::vector{deep, joint}, 4);
      }),
      "--model-file: 'one' has weights of deep, which no model of --models uses; remove it, or "
      "add deep");
}

}  // namespace
}  // namespace outpace::job
