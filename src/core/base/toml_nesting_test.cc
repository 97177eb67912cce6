#include "base/toml_nesting.h"

#include <string>

#include <gtest/gtest.h>

namespace outpace {
namespace {

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

TEST(TomlNesting, TakesWhatAPersonWrites) {
  EXPECT_FALSE(nests_too_deep(""));
  EXPECT_FALSE(nests_too_deep("a.b.c = 1\n[x.y]\nz = [[1.5, 2.5], [{w.v = 3}]]\n"));
  EXPECT_FALSE(nests_too_deep("lr = [" + times(1000, "0.1, ") + "0.2]\n"));
  EXPECT_FALSE(nests_too_deep(times(1000, "a.b = 0.5\n")));
}

TEST(TomlNesting, DoesNotCountWhatIsInStringsAndComments) {
  const std::string many = times(100, "a.[{");
  EXPECT_FALSE(nests_too_deep("x = \"" + many + "\\\"" + many + "\"\n"));
  EXPECT_FALSE(nests_too_deep("x = '" + many + "'\n# " + many + "\ny = 1"));
  EXPECT_FALSE(nests_too_deep("x = \"\"\"" + many + "\n\"" + many + "\"\"\"\n"));
  EXPECT_FALSE(nests_too_deep("x = '''" + many + "\n'" + many + "'''\n"));
  EXPECT_TRUE(nests_too_deep("x = \"\"\n" + times(40, "[")));
}

TEST(TomlNesting, RefusesKeysAndBracketsThatAreTooDeep) {
  EXPECT_TRUE(nests_too_deep(times(31'163, "a.") + "a = 1"));
  EXPECT_TRUE(nests_too_deep("[" + times(31'163, "a.") + "a]"));
  EXPECT_TRUE(nests_too_deep("[" + times(100, "'a' . ") + "a]"));
  EXPECT_TRUE(nests_too_deep("x = " + times(100, "[")));
  EXPECT_TRUE(nests_too_deep("x = " + times(100, "{a = ")));
  EXPECT_TRUE(nests_too_deep("x = \"no end\n" + times(100, "[")));
}

}  // namespace
}  // namespace outpace
