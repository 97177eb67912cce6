#include "base/text.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace outpace {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kPolicies{"sync", "async", "backup", "softsync", "ssp"};

TEST(Nearest, FindsAWordWithAFewWrongLetters) {
  EXPECT_EQ(nearest("sinc", kPolicies), "sync");
  EXPECT_EQ(nearest("bakcup", kPolicies), "backup");
  EXPECT_EQ(nearest("softsink", kPolicies), "softsync");
  EXPECT_EQ(nearest("spp", kPolicies), "ssp");
  EXPECT_EQ(nearest("sync", kPolicies), "sync");
}

TEST(Nearest, TakesTheFirstOfEquallyNearWords) {
  EXPECT_EQ(nearest("aync", kPolicies), "sync");  // "async" is one letter away as well.
}

TEST(Nearest, IsNothingIfMoreThanAThirdOfTheLettersAndTwoDiffer) {
  EXPECT_EQ(nearest("hogwild", kPolicies), "");
  EXPECT_EQ(nearest("", kPolicies), "");
  EXPECT_EQ(nearest("sync", {}), "");
  const std::vector<std::string> one{"learning-rate"};
  EXPECT_EQ(nearest("laerning-rtae", one), "learning-rate");  // 4 of 13.
  EXPECT_EQ(nearest("laerning_rtae", one), "");               // 5 of 13.
}

TEST(Nearest, NeverSuggestsAWordOfWhichNoLetterIsLeft) {
  const std::vector<std::string> tiny{"s", "mu"};
  EXPECT_EQ(nearest("k", tiny), "");
  EXPECT_EQ(nearest("m", tiny), "mu");
}

TEST(Suggestion, IsTheNearestOrTheListOrThatThereIsNone) {
  EXPECT_EQ(suggestion("asinc", kPolicies), "; did you mean 'async'?");
  EXPECT_EQ(suggestion("hogwild", kPolicies), "; known: sync, async, backup, softsync, ssp");
  EXPECT_EQ(suggestion("anything", {}), "; it takes none");
}

TEST(ParseNumber, ReadsTheWholeText) {
  EXPECT_EQ(parse_number("0"), 0.0);
  EXPECT_EQ(parse_number("-1.5"), -1.5);
  EXPECT_EQ(parse_number("2e-3"), 0.002);
  EXPECT_EQ(parse_number(".5"), 0.5);
}

TEST(ParseNumber, RefusesEverythingElse) {
  for (const char* text :
       {"", " 1", "1 ", "1x", "x", "+1", "1,5", "0x10", "nan", "inf", "-inf", "1e999", "--1"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseNumber, ReadsAPartOfALongerText) {
  EXPECT_EQ(parse_number(std::string_view("12345").substr(0, 2)), 12.0);
}

TEST(ParseCount, ReadsWholeNumbersUpToTheGreatest) {
  EXPECT_EQ(parse_count("0"), 0U);
  EXPECT_EQ(parse_count("007"), 7U);
  EXPECT_EQ(parse_count("18446744073709551615"), UINT64_MAX);
  for (const char* text :
       {"", "18446744073709551616", "-1", "+1", "1.0", "1e3", " 1", "1 ", "ten"}) {
    EXPECT_EQ(parse_count(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseDuration, ReadsEveryUnitAndBareSeconds) {
  EXPECT_EQ(parse_duration("10ns"), 10ns);
  EXPECT_EQ(parse_duration("500us"), 500us);
  EXPECT_EQ(parse_duration("20ms"), 20ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("3m"), 3min);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("0.25"), 250ms);
  EXPECT_EQ(parse_duration("0"), 0ns);
  EXPECT_EQ(parse_duration("0.6ns"), 1ns);  // The nearest nanosecond.
}

TEST(ParseDuration, RefusesWhatIsNoDurationOfThisWorld) {
  for (const char* text :
       {"", "s", "ms", "-1s", "-1", "20 ms", "20sec", "1d", "infs", "nan", "1e10", "1e300h"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,b,c", ','), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_EQ(split(",a,", ','), (std::vector<std::string_view>{"", "a", ""}));
  EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
}

TEST(Trim, TakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim("ab"), "ab");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Printable, KeepsLettersOfEveryLanguage) {
  for (const char* text : {"", "node-3:4711", "größe", "日本", "ñ~", "\U0001f40c"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ReplacesWhatControlsATerminalOrALine) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(printable("one\ntwo\r\tthree\x7f"), "one?two??three?");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\u009b31m"), "?31m");         // An escape sequence of one letter.
  EXPECT_EQ(printable("a\u202eb\u2028c"), "a?b?c");  // Writes backwards; a new line.
}

TEST(Printable, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("a\xff\x80z"), "a??z");
  EXPECT_EQ(printable("\xc3"), "?");            // Cut off.
  EXPECT_EQ(printable("\xc3("), "?(");          // Not continued.
  EXPECT_EQ(printable("\xc0\x9b"), "??");       // An escape in more bytes than it takes.
  EXPECT_EQ(printable("\xe0\x80\x9b"), "???");  // Again.
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");  // Half a pair.
}

}  // namespace
}  // namespace outpace
