#include "job/option_list.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/layers.h"

namespace outpace::job {
namespace {

struct Sample {
  std::uint32_t count = 3;
  std::optional<double> rate;
  bool fast = false;
  std::vector<std::string> hosts;
  std::string file;
};

class OptionListTest : public testing::Test {
 protected:
  OptionListTest() {
    options_.add("count", sample_.count, "How many").between(1, 8);
    options_.add("rate", sample_.rate, "How fast").between(0.0);
    options_.add("fast", sample_.fast, "Be fast");
    options_.add("host", sample_.hosts, "Where").separated_by(',');
    options_.add("file", sample_.file, "the file to read").positional().required();
  }

  std::string refusal(const std::string& option, const std::vector<std::string>& texts) {
    return refusal_of([&] { options_.find(option)->set(texts, kCommandLine); });
  }

  Sample sample_;
  OptionList options_;
};

TEST_F(OptionListTest, SetsTheFieldThatItIsBoundTo) {
  options_.find("count")->set({"5"}, kCommandLine);
  options_.find("rate")->set({"0.5"}, "job.toml");
  options_.find("fast")->set({"true"}, kEnvironment);
  EXPECT_EQ(sample_.count, 5);
  EXPECT_EQ(sample_.rate, 0.5);
  EXPECT_TRUE(sample_.fast);
  EXPECT_EQ(options_.at("rate").origin(), "job.toml");
}

TEST_F(OptionListTest, KnowsTheDefaultAndWhetherItWasChanged) {
  EXPECT_EQ(options_.at("count").defaults(), std::vector<std::string>{"3"});
  EXPECT_FALSE(options_.at("count").given());
  options_.find("count")->set({"3"}, "config.toml");
  EXPECT_TRUE(options_.at("count").given());
  EXPECT_FALSE(options_.at("count").changed());
  options_.find("count")->set({"4"}, "config.toml");
  EXPECT_TRUE(options_.at("count").changed());
}

TEST_F(OptionListTest, ALaterListReplacesAnEarlierOne) {
  options_.find("host")->set({"a,b"}, "job.toml");
  EXPECT_EQ(sample_.hosts, (std::vector<std::string>{"a", "b"}));
  options_.find("host")->set({"c"}, kCommandLine);
  EXPECT_EQ(sample_.hosts, std::vector<std::string>{"c"});
  options_.find("host")->set({}, kCommandLine);
  EXPECT_TRUE(sample_.hosts.empty());
}

TEST_F(OptionListTest, AMessageNamesTheOptionAndWhatItTakes) {
  EXPECT_EQ(refusal("count", {"9"}), "--count is '9'; it takes a whole number from 1 to 8");
  EXPECT_EQ(refusal("count", {"many"}), "--count is 'many'; it takes a whole number from 1 to 8");
  EXPECT_EQ(refusal("rate", {"-1"}), "--rate is '-1'; it takes a number of at least 0");
  EXPECT_EQ(refusal("fast", {"maybe"}), "--fast is 'maybe'; it takes true or false");
}

TEST_F(OptionListTest, AMessageNamesTheOriginUnlessItIsTheCommandLine) {
  EXPECT_EQ(refusal_of([&] { options_.find("count")->set({"0"}, kEnvironment); }),
            "--count is '0'; it takes a whole number from 1 to 8 (from environment)");
}

TEST_F(OptionListTest, AnOptionOfOneValueTakesOneValue) {
  EXPECT_EQ(refusal_of([&] {
              options_.find("count")->set({"1", "2"}, "job.toml");
            }),
            "--count takes one value; 2 are given (from job.toml)");
}

TEST_F(OptionListTest, ARequiredOptionMustBeGiven) {
  EXPECT_EQ(refusal_of([&] { options_.check_required("sample"); }),
            "sample: file is missing; it is the file to read");
  options_.find("file")->set({"x"}, kCommandLine);
  EXPECT_EQ(refusal_of([&] { options_.check_required("sample"); }), "accepted");
}

}  // namespace
}  // namespace outpace::job
