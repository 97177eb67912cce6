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
  const auto scale = [&] { return read_noise_scale(directory.path().string()); };
  EXPECT_NE(refusal_of([&] { (void)scale(); }).find("summary.json: cannot be read"),
            std::string::npos);
  put_summary(directory / "summary.json", R"({"gradient_noise_scale": 24.5})");
  EXPECT_EQ(scale(), 24.5);
  put_summary(directory / "summary.json", "{}");
  EXPECT_NE(refusal_of([&] { (void)scale(); }).find("no gradient_noise_scale"), std::string::npos);
  for (const char* none : {"null", "0", "-1", "\"24\""}) {
    put_summary(directory / "summary.json",
                std::string(R"({"gradient_noise_scale": )") + none + "}");
    EXPECT_NE(refusal_of([&] { (void)scale(); }).find("gradient_noise_scale was not measured"),
              std::string::npos)
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
