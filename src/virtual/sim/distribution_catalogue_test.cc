#include "sim/distribution_catalogue.h"

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::sim {
namespace {

const ReadFile kFiles = [](const std::string& name) -> std::string {
  if (name == "runtimes.csv") {
    return "0.1,0.2\n0.3,0.4\n";
  }
  if (name == "empty.csv") {
    return "";
  }
  throw usage_error(name + ": no such file");
};

std::unique_ptr<const Distribution> make(const std::string& text) {
  return DistributionMaker(kFiles).make(text);
}

std::string distribution_refusal(const std::string& text) {
  return refusal_of([&] { std::ignore = make(text); });
}

TEST(DistributionCatalogue, MakesEveryOneOfThem) {
  // Mean and variance worked by hand from the closed forms.
  const std::map<std::string, std::pair<double, double>> examples{
      {"constant(mean=100ms)", {0.1, 0.0}},
      {"constant(1.5s)", {1.5, 0.0}},
      {"normal(mean=1s,cv=0.01)", {1.0, 1e-4}},
      {"lognormal(mean=100ms, cv=0.3)", {0.1, 9e-4}},
      {"exponential(2s)", {2.0, 4.0}},
      {"exponential(mean=2s,shift=1500ms)", {2.0, 0.25}},
      {"gamma(mean=2s,cv=0.5)", {2.0, 1.0}},
      {"pareto(mean=3s,shape=4,shift=1s)", {3.0, 8.0}},
      {"mixture(0.9*constant(mean=100ms),0.1*exponential(mean=1s))", {0.19, 0.1729}},
      {"markov(fast=constant(1s),slow=constant(5s),fast_for=6it,slow_for=2it)", {2.0, 3.0}},
      {"markov(fast=constant(1s),slow=constant(5s),fast_for=1m,slow_for=20s)", {2.0, 3.0}},
      {"machines(size=4,cv=0.5,of=constant(2s))", {2.0, 1.0}},
      {"machines(size=4,cv=0.5,for=60s,of=constant(2s))", {2.0, 1.0}},
      {"scaled(factor=4,of=exponential(100ms))", {0.4, 0.16}},
      {"replay(runtimes.csv)", {0.25, 0.0125}},
      {"replay(file=runtimes.csv,by=time,period=20ms)", {0.25, 0.0125}},
      {"machines(size=8,cv=0.5,of=mixture(1*scaled(factor=2,of=constant(1s))))", {2.0, 1.0}}};
  std::map<std::string, int> made;
  for (const auto& [text, moments] : examples) {
    const auto distribution = make(text);
    EXPECT_NEAR(distribution->mean(), moments.first, 1e-12) << text;
    EXPECT_NEAR(distribution->variance(), moments.second, 1e-12) << text;
    ++made[text.substr(0, text.find('('))];
  }
  for (const DistributionEntry& entry : distribution_catalogue()) {
    EXPECT_GE(made[entry.name], 1) << entry.name;
    EXPECT_FALSE(entry.rule.empty()) << entry.name;
  }
}

TEST(DistributionCatalogue, SuggestsTheNearestName) {
  EXPECT_EQ(distribution_refusal("lognorml(mean=1s,cv=1)"),
            "unknown runtime 'lognorml'; did you mean 'lognormal'?");
  EXPECT_EQ(distribution_refusal("weibull(mean=1s)"),
            "unknown runtime 'weibull'; known: constant, normal, lognormal, exponential, gamma, "
            "pareto, mixture, markov, machines, scaled, replay");
  EXPECT_EQ(distribution_refusal("pareto(mean=1s,shap=2,shape=2)"),
            "runtime 'pareto(mean=1s,shap=2,shape=2)': unknown option 'shap'; did you mean "
            "'shape'?");
}

TEST(DistributionCatalogue, RefusesTimesAndNumbersThatMakeNoRuntime) {
  const std::string time =
      "; it takes a time with its unit, such as 100ms or 1.5s, from 1ns to 1000000s";
  for (const char* value : {"100", "-1s", "0s", "nan", "nans", "inf", "2000000s", "fast"}) {
    const std::string text = std::string("exponential(mean=") + value + ")";
    EXPECT_EQ(distribution_refusal(text), "runtime '" + text + "': mean is '" + value + "'" + time);
  }
  EXPECT_EQ(distribution_refusal("exponential"), "runtime 'exponential': mean is missing" + time);
  for (const char* value : {"0", "-0.1", "nan", "101", "30%"}) {
    const std::string text = std::string("normal(mean=1s,cv=") + value + ")";
    EXPECT_EQ(distribution_refusal(text),
              "runtime '" + text + "': cv is '" + value + "'; it takes a number from 1e-06 to 100");
  }
  EXPECT_EQ(distribution_refusal("lognormal(100ms,0.3)"),
            "runtime 'lognormal(100ms,0.3)': '0.3' has no key; only the first may have none");
  EXPECT_EQ(distribution_refusal("pareto(mean=1s,shape=1)"),
            "runtime 'pareto(mean=1s,shape=1)': shape is '1'; it takes a number from 1.01 to 100");
  EXPECT_EQ(distribution_refusal("exponential(mean=1s,shift=1s)"),
            "runtime 'exponential(mean=1s,shift=1s)': shift is the least runtime, and must be "
            "below the mean");
}

TEST(DistributionCatalogue, RefusesMixturesWithoutWeightsThatSumToOne) {
  EXPECT_EQ(distribution_refusal("mixture(0.9*constant(1s),0.2*constant(2s))"),
            "runtime 'mixture(0.9*constant(1s),0.2*constant(2s))': the weights sum to 1.100000; "
            "they must sum to 1");
  const std::string form =
      " has no weight above 0; write weight*runtime for each part, as in "
      "mixture(0.9*constant(100ms),0.1*exponential(1s))";
  for (const char* part : {"constant(1s)",
                           "0*constant(1s)",
                           "-1*constant(1s)",
                           "x*constant(1s)",
                           "nan*constant(1s)",
                           "a=constant(1s)"}) {
    const std::string text = std::string("mixture(") + part + ")";
    EXPECT_EQ(distribution_refusal(text), "runtime '" + text + "': '" + part + "'" + form);
  }
  EXPECT_EQ(distribution_refusal("mixture(1*constant(1))").substr(0, 35),
            "runtime 'constant(1)': mean is '1';");
  EXPECT_EQ(
      distribution_refusal("mixture(0.333*constant(1s),0.333*constant(1s),0.333*constant(1s))"),
      "accepted");
}

TEST(DistributionCatalogue, RefusesStatesAndMachinesThatMakeNoSense) {
  const std::string states = "markov(fast=constant(1s),slow=constant(5s),";
  const std::string dwell = "; it takes a time or iterations with their unit, such as 60s or 20it";
  for (const char* value : {"20", "0it", "-1s", "0s", "nanit", "20 it", "1e99it"}) {
    const std::string text = states + "fast_for=" + value + ",slow_for=20it)";
    EXPECT_EQ(distribution_refusal(text),
              "runtime '" + text + "': fast_for is '" + value + "'" + dwell);
  }
  EXPECT_EQ(distribution_refusal(states + "fast_for=20s)"),
            "runtime '" + states + "fast_for=20s)': slow_for is missing" + dwell);
  EXPECT_EQ(distribution_refusal(states + "fast_for=20s,slow_for=20it)"),
            "runtime '" + states +
                "fast_for=20s,slow_for=20it)': fast_for and slow_for are both times or both "
                "iterations");
  EXPECT_EQ(distribution_refusal(states + "fast_for=2it,slow_for=1.5it)"),
            "runtime '" + states +
                "fast_for=2it,slow_for=1.5it)': states that short take turns; let each last for "
                "at least 2it");
  EXPECT_EQ(distribution_refusal("machines(size=0,cv=0.2,of=constant(1s))"),
            "runtime 'machines(size=0,cv=0.2,of=constant(1s))': size is '0'; it takes a whole "
            "number from 1 to 4294967295");
  EXPECT_EQ(distribution_refusal("machines(size=4,cv=0.2)"),
            "runtime 'machines(size=4,cv=0.2)': of is missing; it takes a runtime");
}

TEST(DistributionCatalogue, RefusesReplaysWithoutATable) {
  EXPECT_EQ(distribution_refusal("replay"),
            "runtime 'replay': file is missing; it takes the name of a "
            "runtimes.csv");
  EXPECT_EQ(distribution_refusal("replay(none.csv)"), "none.csv: no such file");
  EXPECT_EQ(distribution_refusal("replay(empty.csv)").substr(0, 24), "empty.csv: no runtimes; ");
  EXPECT_EQ(distribution_refusal("replay(runtimes.csv,period=1s)"),
            "runtime 'replay(runtimes.csv,period=1s)': period is that of a row, and needs by=time");
  EXPECT_EQ(distribution_refusal("replay(runtimes.csv,by=worker)"),
            "runtime 'replay(runtimes.csv,by=worker)': by is 'worker'; it takes iteration|time");
}

TEST(DistributionCatalogue, RefusesEndlessNesting) {
  std::string text = "constant(1s)";
  for (int i = 0; i < 10'000; ++i) {
    text.insert(0, "scaled(factor=1,of=");
  }
  text += std::string(10'000, ')');
  EXPECT_NE(distribution_refusal(text).find("more than 20 runtimes inside of each other"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::sim
