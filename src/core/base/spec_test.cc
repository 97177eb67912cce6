#include "base/spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

std::string refusal(const std::string& text) {
  return refusal_of([&] { std::ignore = Spec::parse(text); });
}

// Reads a spec as the policy saps:s=8,action=preempt would.
struct Saps {
  std::uint64_t s = 0;
  double share = 0.0;
  std::string action;
};

Saps read(const std::string& text) {
  const Spec spec = Spec::parse(text);
  SpecReader reader("policy", spec);
  Saps saps;
  saps.s = reader.count("s", std::nullopt, 1, 100);
  saps.share = reader.number("share", 0.5, 0.0, 1.0);
  saps.action = reader.word("action", std::vector<std::string>{"wait", "preempt"}, "wait");
  reader.finish();
  return saps;
}

std::string reading(const std::string& text) {
  return refusal_of([&] { std::ignore = read(text); });
}

TEST(Spec, IsANameAlone) {
  const Spec spec = Spec::parse("sync");
  EXPECT_EQ(spec.name, "sync");
  EXPECT_EQ(spec.options, Options{});
  EXPECT_EQ(spec.text, "sync");
}

TEST(Spec, IsANameWithOptionsInTheirOrder) {
  const Spec spec = Spec::parse("saps:s=8,action=preempt");
  EXPECT_EQ(spec.name, "saps");
  EXPECT_EQ(spec.options, (Options{{"s", "8"}, {"action", "preempt"}}));
  EXPECT_EQ(spec.text, "saps:s=8,action=preempt");
}

TEST(Spec, MayStartWithAValueWithoutAKey) {
  EXPECT_EQ(Spec::parse("ssp:3").options, (Options{{"", "3"}}));
  EXPECT_EQ(Spec::parse("saps:8,action=preempt").options,
            (Options{{"", "8"}, {"action", "preempt"}}));
}

TEST(Spec, KeepsFurtherColonsAndEqualsSignsInTheValue) {
  EXPECT_EQ(Spec::parse("dynamic:file=C:/x=y").options, (Options{{"file", "C:/x=y"}}));
}

TEST(Spec, RefusesWhatHasNotItsForm) {
  EXPECT_EQ(refusal(""), "'': a name is missing; write name:key=value,key=value");
  EXPECT_EQ(refusal(":s=3"), "':s=3': a name is missing; write name:key=value,key=value");
  EXPECT_EQ(refusal("ssp:"), "'ssp:': '' is not key=value; write name:key=value,key=value");
  EXPECT_EQ(refusal("ssp:s="), "'ssp:s=': 's=' is not key=value; write name:key=value,key=value");
  EXPECT_EQ(refusal("ssp:=3"), "'ssp:=3': '=3' is not key=value; write name:key=value,key=value");
  EXPECT_EQ(refusal("ssp:s=3,4"),
            "'ssp:s=3,4': '4' is not key=value; write name:key=value,key=value");
  EXPECT_EQ(refusal("ssp:s=3,"), "'ssp:s=3,': '' is not key=value; write name:key=value,key=value");
}

TEST(Spec, MayHaveOneValueInParenthesesThatHoldsWhateverItLikes) {
  const Spec spec = Spec::parse("switch(a:b=1,c=2 until (x) then d)");
  EXPECT_EQ(spec.name, "switch");
  ASSERT_EQ(spec.options.size(), 1U);
  EXPECT_EQ(spec.options[0].first, "");
  EXPECT_EQ(spec.options[0].second, "a:b=1,c=2 until (x) then d");
  EXPECT_EQ(Spec::parse("csv:a(1).csv").options[0].second, "a(1).csv");
  const std::string form = ": write name(value), with nothing after the ')'";
  for (const std::string text : {"switch(a", "switch()", "(a)", "switch(a):b", "switch("}) {
    EXPECT_EQ(refusal(text), "'" + text + "'" + form);
  }
}

TEST(Spec, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(refusal("ssp:s=3,s=4"), "'ssp:s=3,s=4': 's' is given twice");
}

TEST(SpecReader, ReadsOptionsInAnyOrder) {
  const Saps saps = read("saps:action=preempt,share=0.25,s=8");
  EXPECT_EQ(saps.s, 8U);
  EXPECT_EQ(saps.share, 0.25);
  EXPECT_EQ(saps.action, "preempt");
}

TEST(SpecReader, FillsInTheDefaults) {
  const Saps saps = read("saps:s=8");
  EXPECT_EQ(saps.share, 0.5);
  EXPECT_EQ(saps.action, "wait");
}

TEST(SpecReader, TakesAValueWithoutAKeyForTheFirstOption) {
  EXPECT_EQ(read("saps:8").s, 8U);
  EXPECT_EQ(read("saps:8,action=preempt").action, "preempt");
}

TEST(SpecReader, RefusesTheFirstOptionGivenWithAndWithoutItsKey) {
  EXPECT_EQ(reading("saps:8,s=9"), "policy 'saps:8,s=9': 's' is given twice");
}

TEST(SpecReader, TakesTheBoundsThemselves) {
  EXPECT_EQ(read("saps:s=1,share=0").s, 1U);
  EXPECT_EQ(read("saps:s=100,share=1").share, 1.0);
}

TEST(SpecReader, SaysWhichValueIsMissingOrWrongAndWhatWouldBeRight) {
  EXPECT_EQ(reading("saps"), "policy 'saps': s is missing; it takes a whole number from 1 to 100");
  for (const char* value : {"0", "101", "-1", "2.5", "two"}) {
    const std::string text = std::string("saps:s=") + value;
    EXPECT_EQ(reading(text),
              "policy '" + text + "': s is '" + value + "'; it takes a whole number from 1 to 100");
  }
  for (const char* value : {"1.1", "-0.1", "half", "nan"}) {
    const std::string text = std::string("saps:s=1,share=") + value;
    EXPECT_EQ(reading(text),
              "policy '" + text + "': share is '" + value + "'; it takes a number from 0 to 1");
  }
  EXPECT_EQ(reading("saps:s=1,action=drop"),
            "policy 'saps:s=1,action=drop': action is 'drop'; it takes wait|preempt");
}

TEST(SpecReader, NamesNoUpperBoundWhereThereIsNone) {
  const Spec spec = Spec::parse("step:every=0");
  EXPECT_EQ(refusal_of([&] {
              SpecReader reader("schedule", spec);
              std::ignore = reader.count("every", std::nullopt, 1);
            }),
            "schedule 'step:every=0': every is '0'; it takes a whole number of at least 1");
}

TEST(SpecReader, RefusesATimeWithoutAUnitAndOneOutOfRange) {
  const auto reading_seconds = [](const std::string& value) {
    const Spec spec = Spec::parse("wait:for=" + value);
    SpecReader reader("delay", spec);
    return reader.seconds("for", std::nullopt, 0.001, 60);
  };
  EXPECT_EQ(reading_seconds("100ms"), 0.1);
  EXPECT_EQ(reading_seconds("1m"), 60.0);
  for (const char* value : {"100", "100us", "61s", "-1s", "nan", "nans", "ms", "1 s"}) {
    EXPECT_EQ(refusal_of([&] { std::ignore = reading_seconds(value); }),
              std::string("delay 'wait:for=") + value + "': for is '" + value +
                  "'; it takes a time with its unit, such as 100ms or 1.5s, from 1ms to 60s");
  }
}

TEST(SpecReader, TakesAnyTextButRequiresIt) {
  const Spec spec = Spec::parse("delay:of=anything");
  SpecReader reader("delay", spec);
  EXPECT_EQ(reader.text("of", "a runtime"), "anything");
  EXPECT_EQ(refusal_of([&] { std::ignore = reader.text("to", "a runtime"); }),
            "delay 'delay:of=anything': to is missing; it takes a runtime");
}

TEST(SpecReader, RequiresAWordWithoutADefault) {
  const Spec spec = Spec::parse("network");
  EXPECT_EQ(refusal_of([&] {
              SpecReader reader("network", spec);
              std::ignore = reader.word("kind", std::vector<std::string>{"mlp", "cnn"}, "");
            }),
            "network 'network': kind is missing; it takes mlp|cnn");
}

TEST(SpecReader, RefusesAnUnknownOptionAndSuggestsTheNearest) {
  EXPECT_EQ(reading("saps:s=8,acton=preempt"),
            "policy 'saps:s=8,acton=preempt': unknown option 'acton'; did you mean 'action'?");
  EXPECT_EQ(reading("saps:s=8,x=1"),
            "policy 'saps:s=8,x=1': unknown option 'x'; known: s, share, action");
}

TEST(SpecReader, TakesANameNearAMissingOneForASlip) {
  const auto cutoff = [](const std::string& text) {
    const Spec spec = Spec::parse(text);
    return refusal_of([&] {
      SpecReader reader("policy", spec);
      std::ignore = reader.count("cutoff", std::nullopt, 1, 8);
    });
  };
  EXPECT_EQ(cutoff("backup:cutof=3"),
            "policy 'backup:cutof=3': unknown option 'cutof'; did you mean 'cutoff'?");
  EXPECT_EQ(cutoff("backup:other=3"),
            "policy 'backup:other=3': cutoff is missing; it takes a whole number from 1 to 8");
}

TEST(SpecReader, RefusesAnyOptionOfWhatTakesNone) {
  for (const char* text : {"sync:3", "sync:3=3"}) {
    const Spec spec = Spec::parse(text);
    const std::string message = refusal_of([&] { SpecReader("policy", spec).finish(); });
    EXPECT_EQ(message, "policy '" + std::string(text) + "': unknown option '3'; it takes none");
  }
}

}  // namespace
}  // namespace outpace
