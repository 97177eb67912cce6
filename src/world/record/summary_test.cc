#include "record/summary.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "record/summary_example_test.h"

namespace outpace::record {
namespace {

TEST(Summary, SaysWhatTheRunDid) {
  const nlohmann::ordered_json json = to_json(example_summary());
  EXPECT_EQ(json.at("policy"), "backup:cutoff=6");
  EXPECT_EQ(json.at("workers"), 8);
  EXPECT_EQ(json.at("updates"), 1000);
  EXPECT_EQ(json.at("seconds"), 12.5);
  EXPECT_EQ(json.at("gradients_applied"), 6000);
  EXPECT_EQ(json.at("gradients_dropped"), 150);
  EXPECT_EQ(json.at("gradients_cancelled"), 3);
  EXPECT_EQ(json.at("examples_per_second"), 15360.0);
  EXPECT_EQ(json.at("gradients_per_second"), 480.0);
  EXPECT_EQ(json.at("seconds_to_target"), 6.5);
  EXPECT_EQ(json.at("final_accuracy"), 0.8412);
  EXPECT_EQ(json.at("final_loss"), 0.4375);
  EXPECT_EQ(json.at("examples_used_per_epoch_min"), 1);
  EXPECT_EQ(json.at("examples_used_per_epoch_max"), 1);
  EXPECT_EQ(json.at("evaluations").at(0).at("version"), 500);
}

TEST(Summary, HasTheStalenessAsAHistogramOfWhatOccurred) {
  EXPECT_EQ(to_json(example_summary()).at("staleness").dump(),
            R"({"mean":0.03333333333333333,"max":2,"p99":2,"histogram":{"0":5900,"2":100}})");
}

TEST(Summary, HasEveryWorkerInDetail) {
  const nlohmann::ordered_json json = to_json(example_summary());
  ASSERT_EQ(json.at("workers_detail").size(), 8U);
  const nlohmann::ordered_json& slow = json.at("workers_detail").at(6);
  EXPECT_EQ(slow.at("worker"), 6);
  EXPECT_EQ(slow.at("host"), "localhost");
  EXPECT_EQ(slow.at("iterations"), 250);
  EXPECT_EQ(slow.at("accepted"), 100);
  EXPECT_EQ(slow.at("dropped"), 150);
  EXPECT_FLOAT_EQ(slow.at("median_runtime").get<float>(), 0.08F);
  EXPECT_EQ(slow.at("examples"), 3200);
  EXPECT_EQ(slow.at("share_of_examples"), 100.0 / 6000.0);
  for (const char* key :
       {"cancelled", "refused", "partial", "p99_runtime", "stalled", "incarnations"}) {
    EXPECT_TRUE(slow.contains(key)) << key;
  }
}

TEST(Summary, SaysWhatEachCandidateOfTheChoicePromisedAndGave) {
  Summary summary = example_summary();
  EXPECT_TRUE(to_json(summary).at("choice").is_null()) << "this policy chooses among none";
  summary.statistics.choice = policy::Expectations{
      .of = {{.policy = "dynamic", .expected = 20.0, .measured = 19.0, .looks = 6},
             {.policy = "sync", .expected = 5.0}},
      .looks = 6,
      .regret = 0.25};
  EXPECT_EQ(to_json(summary).at("choice").dump(),
            R"({"looks":6,"regret":0.25,"candidates":[)"
            R"({"policy":"dynamic","expected_progress":20.0,"measured_progress":19.0,"looks":6},)"
            R"({"policy":"sync","expected_progress":5.0,"measured_progress":null,"looks":0}]})");
}

TEST(Summary, IsNullWhereNothingIsKnownAndNeverNan) {
  Summary summary;
  summary.lr = std::numeric_limits<double>::quiet_NaN();
  summary.final_loss = std::numeric_limits<double>::infinity();
  summary.statistics.workers.resize(1);
  const nlohmann::ordered_json json = to_json(summary);
  for (const char* key : {"lr",
                          "seconds_to_target",
                          "final_accuracy",
                          "final_loss",
                          "examples_per_second",
                          "gradients_per_second",
                          "training_loss"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_EQ(json.at("staleness").dump(), R"({"mean":null,"max":null,"p99":null,"histogram":{}})");
  EXPECT_TRUE(json.at("workers_detail").at(0).at("median_runtime").is_null());
  EXPECT_TRUE(json.at("workers_detail").at(0).at("share_of_examples").is_null());
}

TEST(Summary, IsWrittenAsItIs) {
  const TemporaryDirectory directory;
  write_summary(directory / "summary.json", example_summary());
  EXPECT_EQ(nlohmann::ordered_json::parse(contents(directory / "summary.json")),
            to_json(example_summary()));
}

TEST(Summary, CanBeWrittenWhateverAHostCallsItself) {
  const TemporaryDirectory directory;
  Summary summary = example_summary();
  summary.statistics.workers[0].host = "\xff";
  write_summary(directory / "summary.json", summary);
  EXPECT_TRUE(nlohmann::ordered_json::accept(contents(directory / "summary.json")));
}

}  // namespace
}  // namespace outpace::record
