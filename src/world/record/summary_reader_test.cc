#include "record/summary_reader.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

void put_summary(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(SummaryReader, ReadsTheNoiseScaleOfARunThatMeasuredIt) {
  const TemporaryDirectory directory;
  const auto scale = [&] { return read_learning(directory.path().string()).noise_scale; };
  EXPECT_NE(refusal_of([&] { (void)scale(); }).find("summary.json: cannot be read"),
            std::string::npos);
  put_summary(directory / "summary.json", R"({"gradient_noise_scale": 24.5})");
  EXPECT_EQ(scale(), 24.5);
  put_summary(directory / "summary.json", "{}");
  EXPECT_NE(refusal_of([&] { (void)scale(); }).find("no gradient_noise_scale"), std::string::npos);
  put_summary(directory / "summary.json", R"({"gradient_noise_scale": 24.5, "local_steps": null})");
  EXPECT_EQ(scale(), 24.5);
  put_summary(directory / "summary.json", R"({"gradient_noise_scale": 24.5, "local_steps": 10})");
  EXPECT_NE(refusal_of([&] { (void)scale(); }).find("summary.json: the run had --local-steps 10, "),
            std::string::npos);
  for (const char* none : {"null", "0", "-1", "\"24\""}) {
    put_summary(directory / "summary.json",
                std::string(R"({"gradient_noise_scale": )") + none + "}");
    EXPECT_NE(refusal_of([&] { (void)scale(); }).find("gradient_noise_scale was not measured"),
              std::string::npos)
        << none;
  }
}

TEST(SummaryReader, ReadsWhatARunReachedAtItsTarget) {
  const auto found = reached(nlohmann::json::parse(
      R"({"target_accuracy": 0.84, "seconds_to_target": 12.0, "examples_per_second": 1000.0,
          "updates": 50, "examples": 20000, "staleness": {"histogram": {"10": 100, "0": 400}},
          "evaluations": [{"seconds": 20.0, "accuracy": 0.9}]})"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->what, "84.0 %");
  EXPECT_EQ(found->seconds, 12.0);
  EXPECT_EQ(found->examples, 12000.0);
  EXPECT_EQ(found->mixed, 40.0 * (400.0 * 10.0 + 100.0 * 10.0 * 11.0) / 500.0);
}

TEST(SummaryReader, TakesTheExamplesThatTheEvaluationTells) {
  // It waited for its server to be resumed: its mean rate is not that of before the target.
  const auto found = [](const std::string& target) {
    return reached(
        nlohmann::json::parse(R"({"target_accuracy": 0.84, "seconds_to_target": )" + target +
                              R"(, "examples_per_second": 100.0, "updates": 50, "examples": 20000,
            "staleness": {"histogram": {"0": 500}},
            "evaluations": [{"seconds": 12.5, "examples": 15000, "accuracy": 0.85},
                            {"seconds": 200.0, "examples": 20000, "accuracy": 0.9}]})"));
  };
  EXPECT_EQ(found("12.5")->examples, 15000.0);
  EXPECT_EQ(found("null")->examples, 20000.0);
}

TEST(SummaryReader, ReadsWhatARunReachedAtItsEnd) {
  const auto end = [](const std::string& evaluation, const std::string& updates = "50") {
    return reached(nlohmann::json::parse(
        R"({"target_accuracy": 0.84, "seconds_to_target": null, "examples_per_second": 1000.0,
            "staleness": {"histogram": {"0": 500}}, "updates": )" +
        updates + R"(, "examples": 20000, "evaluations": [)" + evaluation + "]}"));
  };
  EXPECT_EQ(end(R"({"seconds": 20.0, "accuracy": 0.8123, "loss": 0.7})")->what, "81.2 %");
  EXPECT_EQ(end(R"({"seconds": 20.0, "accuracy": null, "loss": 0.7})")->what, "loss 0.7");
  EXPECT_EQ(end(R"({"seconds": 20.0, "loss": 0.7})")->examples, 20000.0);
  for (const char* none : {"", "7", "{}", R"({"loss": 0.7})", R"({"seconds": 0, "loss": 0.7})"}) {
    EXPECT_FALSE(end(none).has_value()) << none;
  }
  EXPECT_FALSE(end(R"({"seconds": 20.0, "loss": 0.7})", "0").has_value());
  for (const char* none :
       {"{}", R"({"0": 0})", R"({"x": 5})", R"({"-1": 5})", R"({"0": -5})", "7"}) {
    EXPECT_FALSE(reached(nlohmann::json::parse(
                             R"({"target_accuracy": 0.84, "seconds_to_target": 12, "updates": 50,
                        "examples_per_second": 1000, "examples": 20000, "staleness": {"histogram": )" +
                             std::string(none) + "}}"))
                     .has_value())
        << none;
  }
}

TEST(SummaryReader, ReadsWhichPolicyAutoHadInForceForTheLongestTime) {
  const auto most = [](const char* text) { return most_in_force(nlohmann::json::parse(text)); };
  EXPECT_EQ(most(R"({"choice": {"candidates": [{"policy": "sync", "looks": 3},
                 {"policy": "dynamic --balance", "looks": 5}, {"policy": "saps", "looks": 0}]}})"),
            "dynamic --balance");
  for (const char* none : {"{}",
                           R"({"choice": null})",
                           R"({"choice": {"candidates": [7, {"policy": "sync", "looks": 0}]}})"}) {
    EXPECT_EQ(most(none), "") << none;
  }
}

}  // namespace
}  // namespace outpace::record
