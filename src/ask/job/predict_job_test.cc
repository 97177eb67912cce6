#include "job/predict_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

using Names = std::vector<std::string>;

TEST(PredictJob, PredictsOneToSixteenWorkersUnderSyncAndAsyncByDefault) {
  const PredictJob job;
  EXPECT_EQ(workers_in_force(job).size(), 16);
  EXPECT_EQ(policies_in_force(job.policies), (Names{"sync", "async"}));
}

TEST(PredictJob, TakesListsOfPoliciesTopologiesAndModels) {
  Declared<PredictJob> predict;
  predict.give("policy", Names{"sync,ssp:s=3", "async"})
      .give("topology", "ps,ring")
      .give("models", "coarse");
  EXPECT_EQ(policies_in_force(predict.job.policies), (Names{"sync", "ssp:s=3", "async"}));
  EXPECT_EQ(predict.job.topologies, (Names{"ps", "ring"}));
  EXPECT_EQ(predict.job.models, std::vector{PredictionModel::kCoarse});
  EXPECT_EQ(refusal_of([&] { predict.give("models", "fine,best"); }),
            "--models is 'best'; it takes fine or coarse");
}

TEST(PredictJob, RefusesOptionsOfACalibratedProfileWithAMeasuredOne) {
  Declared<PredictJob> predict;
  predict.give("profile", "p.json").give("batch", "8");
  EXPECT_EQ(refusal_of([&] { check(predict.options, predict.job, ProfileKind::kMeasured); }),
            "--batch conflicts with a measured profile: it is for one that outpace calibrate "
            "wrote; remove it");
  predict.give("workers", "4");
  check(predict.options, predict.job, ProfileKind::kCalibrated);
}

TEST(PredictJob, RefusesOptionsOfAMeasuredProfileWithACalibratedOne) {
  for (const auto& [option, text] : {std::pair{"plot", "p.svg"},
                                     {"runtime", "constant(1s)"},
                                     {"bandwidth", "1Gbps"},
                                     {"shards", "2"},
                                     {"models", "fine"}}) {
    Declared<PredictJob> predict;
    predict.give("workers", "4").give(option, text);
    EXPECT_EQ(refusal_of([&] { check(predict.options, predict.job, ProfileKind::kCalibrated); }),
              "--" + std::string(option) +
                  " conflicts with a calibrated profile: it is for one that outpace profile "
                  "wrote; remove it");
  }
}

TEST(PredictJob, IsHeldToTheMostWorkersAndShardsOfAModel) {
  Declared<PredictJob> many;
  many.give("workers", "1,10001");
  EXPECT_NE(refusal_of([&] {
              check(many.options, many.job, ProfileKind::kMeasured);
            }).find("--workers is '1,10001'"),
            std::string::npos);
  many.give("workers", "1,10000").give("shards", "257");
  EXPECT_NE(refusal_of([&] {
              check(many.options, many.job, ProfileKind::kMeasured);
            }).find("--shards is '257'"),
            std::string::npos);
}

TEST(PredictJob, TakesEitherATableOrWorkersOfACalibratedProfile) {
  const std::string either =
      "predict takes either --configurations TABLE.csv or --workers 1..64 with a calibrated "
      "profile";
  Declared<PredictJob> neither;
  EXPECT_EQ(refusal_of([&] { check(neither.options, neither.job, ProfileKind::kCalibrated); }),
            either);
  Declared<PredictJob> both;
  both.give("workers", "8").give("configurations", "t.csv");
  EXPECT_EQ(refusal_of([&] { check(both.options, both.job, ProfileKind::kCalibrated); }), either);
}

TEST(PredictJob, TakesOnePolicyAndOnePlacingOfACalibratedProfile) {
  Declared<PredictJob> policies;
  policies.give("workers", "8").give("policy", Names{"sync", "async"});
  EXPECT_EQ(refusal_of([&] { check(policies.options, policies.job, ProfileKind::kCalibrated); }),
            "--policy has 2 values; with a calibrated profile it takes one");
  Declared<PredictJob> nodes;
  nodes.give("workers", "8").give("nodes", "2").give("workers-per-node", "4");
  EXPECT_EQ(refusal_of([&] { check(nodes.options, nodes.job, ProfileKind::kCalibrated); }),
            "--nodes conflicts with --workers-per-node: each follows from the other; remove one");
}

TEST(PredictJob, KnowsTwoKindsOfProfile) {
  EXPECT_EQ(profile_kind("measured", "p.json"), ProfileKind::kMeasured);
  EXPECT_EQ(profile_kind("calibrated", "p.json"), ProfileKind::kCalibrated);
  EXPECT_EQ(refusal_of([] { (void)profile_kind("guessed", "p.json"); }),
            "p.json: kind is 'guessed'; it takes measured or calibrated");
}

}  // namespace
}  // namespace outpace::job
