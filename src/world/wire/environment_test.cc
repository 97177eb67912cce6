#include "wire/environment.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

namespace outpace::wire {
namespace {

TEST(Environment, HasTheVariablesOfThisProcess) {
  ASSERT_EQ(::setenv("OUTPACE_TEST_OF_VARIABLES", "a=b", 1), 0);
  EXPECT_EQ(environment_variables().at("OUTPACE_TEST_OF_VARIABLES"), "a=b");
}

TEST(Environment, IsHandedOnWithChanges) {
  for (const char* name : {"OUTPACE_TEST_A", "OUTPACE_TEST_B", "OUTPACE_TEST_C"}) {
    ASSERT_EQ(::setenv(name, "1", 1), 0);
  }
  const auto not_c = [](std::string_view name) { return name != "OUTPACE_TEST_C"; };
  std::vector<std::string> all = environment_with({"OUTPACE_TEST_A=2", "OUTPACE_TEST_B"}, not_c);
  std::erase_if(all, [](const std::string& one) { return !one.starts_with("OUTPACE_TEST_"); });
  std::erase(all, "OUTPACE_TEST_OF_VARIABLES=a=b");
  EXPECT_EQ(all, std::vector<std::string>{"OUTPACE_TEST_A=2"});
  const std::vector<std::string> whole = environment_with({});
  EXPECT_EQ(std::ranges::count(whole, "OUTPACE_TEST_C=1"), 1);
}

TEST(Environment, EndsItsPointersWithNone) {
  std::vector<std::string> words{"sh", "-c"};
  const std::vector<char*> pointers = pointers_to(words);
  ASSERT_EQ(pointers.size(), 3U);
  EXPECT_STREQ(pointers[1], "-c");
  EXPECT_EQ(pointers[2], nullptr);
}

}  // namespace
}  // namespace outpace::wire
