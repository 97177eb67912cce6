#include "sim/nested_spec.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::sim {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

std::string spec_refusal(const std::string& text) {
  return refusal_of([&] { std::ignore = parse_nested("runtime", text); });
}

TEST(NestedSpec, IsANameWithOrWithoutElements) {
  const Spec bare = parse_nested("runtime", " name ");
  EXPECT_EQ(bare.name, "name");
  EXPECT_EQ(bare.text, "name");
  EXPECT_TRUE(bare.options.empty());
  EXPECT_EQ(parse_nested("runtime", "f(1)").options, (Options{{"", "1"}}));
  EXPECT_EQ(parse_nested("runtime", "f( a = 1 ,b=2)").options, (Options{{"a", "1"}, {"b", "2"}}));
}

TEST(NestedSpec, KeepsWhatIsInParenthesesTogether) {
  const Spec spec = parse_nested("runtime", "mixture(0.9*f(a=1,b=2), of=g(h(x,y=(z)),w))");
  EXPECT_EQ(spec.name, "mixture");
  EXPECT_EQ(spec.options, (Options{{"", "0.9*f(a=1,b=2)"}, {"of", "g(h(x,y=(z)),w)"}}));
}

TEST(NestedSpec, RefusesWhatIsMalformedAndQuotesIt) {
  const std::string form = "write name or name(key=value,key=value)";
  EXPECT_EQ(spec_refusal("f(a=1"), "runtime 'f(a=1': a '(' without its ')'");
  EXPECT_EQ(spec_refusal("f(a=1))"), "runtime 'f(a=1))': a ')' without its '('");
  EXPECT_EQ(spec_refusal("f(1),g(2)"),
            "runtime 'f(1),g(2)': a ',' outside of parentheses; " + form);
  EXPECT_EQ(spec_refusal(""), "runtime '': no name; " + form);
  EXPECT_EQ(spec_refusal("(a=1)"), "runtime '(a=1)': no name; " + form);
  EXPECT_EQ(spec_refusal("2*f(1)"), "runtime '2*f(1)': no name; " + form);
  EXPECT_EQ(spec_refusal("f()"), "runtime 'f()': " + form);
  EXPECT_EQ(spec_refusal("f(a=1)x"), "runtime 'f(a=1)x': " + form);
  EXPECT_EQ(spec_refusal("f(a=)"), "runtime 'f(a=)': 'a=' is not key=value; " + form);
  EXPECT_EQ(spec_refusal("f(=1)"), "runtime 'f(=1)': '=1' is not key=value; " + form);
  EXPECT_EQ(spec_refusal("f(a=1,,b=2)"), "runtime 'f(a=1,,b=2)': '' is not key=value; " + form);
  EXPECT_EQ(spec_refusal("f(a=1,a=2)"), "runtime 'f(a=1,a=2)': 'a' is given twice");
}

TEST(NestedSpec, AnEndlessTextIsRefusedInOneLineOfSomeLength) {
  const std::string message = spec_refusal(std::string(1'000'000, '('));
  EXPECT_LT(message.size(), 300U);
  EXPECT_NE(message.find("a '(' without its ')'"), std::string::npos);
}

TEST(SplitMultiple, TakesTheCountBeforeTheStarButNotOneInside) {
  const auto pair = [](std::string_view text) {
    const Multiple multiple = split_multiple(text);
    return std::pair(std::string(multiple.count), std::string(multiple.rest));
  };
  EXPECT_EQ(pair("0.9 * f(x)"), std::pair(std::string("0.9"), std::string("f(x)")));
  EXPECT_EQ(pair("f(2*x)"), std::pair(std::string(), std::string("f(2*x)")));
  EXPECT_EQ(pair("f"), std::pair(std::string(), std::string("f")));
}

}  // namespace
}  // namespace outpace::sim
