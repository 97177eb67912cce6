#include "record/unusable.h"

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

class Unusable : public ::testing::Test {
 protected:
  [[nodiscard]] UnusableExamples examples(const std::filesystem::path& file) {
    return {file, [this](const std::string& line) { said_.push_back(line); }, nullptr};
  }

  const TemporaryDirectory folder_;
  const std::filesystem::path file_ = folder_.path() / "unusable.csv";
  std::vector<std::string> said_;
};

TEST_F(Unusable, ExamplesAreNamedOnceAndWrittenAlways) {
  UnusableExamples unusable = examples(file_);
  unusable.add({7, 3}, "their gradient is not finite");
  unusable.add({3, 9}, "their gradient is not finite");
  unusable.add({9}, "no worker could compute them");
  EXPECT_EQ(said_,
            (std::vector<std::string>{"examples 3, 7 are left out: their gradient is not finite "
                                      "(unusable.csv)",
                                      "example 9 is left out: their gradient is not finite "
                                      "(unusable.csv)"}));
  std::ostringstream text;
  text << std::ifstream(file_).rdbuf();
  EXPECT_EQ(text.str(),
            "example,why\n3,their gradient is not finite\n7,their gradient is not finite\n"
            "3,their gradient is not finite\n9,their gradient is not finite\n"
            "9,no worker could compute them\n");
}

TEST_F(Unusable, ExamplesOfALargeMiniBatchFillNoScreen) {
  UnusableExamples unusable = examples(file_);
  std::vector<std::uint64_t> many(100);
  std::iota(many.begin(), many.end(), 0);
  unusable.add(many, "x");
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_NE(said_[0].find("30, 31 and 68 more are left out"), std::string::npos) << said_[0];
}

TEST_F(Unusable, ExamplesThatCannotBeWrittenAreNamedAllTheSame) {
  UnusableExamples unusable = examples(folder_.path() / "nowhere" / "unusable.csv");
  unusable.add({1}, "x");
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_NE(said_[0].find("unusable.csv"), std::string::npos) << said_[0];
  EXPECT_EQ(said_[1], "example 1 is left out: x (unusable.csv)");
}

}  // namespace
}  // namespace outpace::record
