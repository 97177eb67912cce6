#include "base/text_table.h"

#include <gtest/gtest.h>

namespace outpace {
namespace {

using Align = TextTable::Align;

TEST(TextTable, AlignsColumnsToTheirWidestCell) {
  TextTable table({{"policy", Align::kLeft}, {"updates"}, {"notes", Align::kLeft}});
  table.add_row({"a longer name", "7", "slow"});
  table.add_row({"sync", "1,234,567", "-"});
  EXPECT_EQ(table.text(),
            "policy           updates  notes\n"
            "a longer name          7  slow\n"
            "sync           1,234,567  -\n");
}

TEST(TextTable, LeavesNoBlanksAtTheEndOfALine) {
  TextTable table({{"a", Align::kLeft}, {"", Align::kLeft}});
  table.add_row({"1", ""});
  table.add_row({"2", "note"});
  EXPECT_EQ(table.text(), "a\n1\n2  note\n");
}

TEST(TextTable, WritesOneTextAcrossColumnsWithoutWideningThem) {
  TextTable table({{"policy", Align::kLeft}, {"a"}, {"b"}});
  table.add_row({"sync", "1", "2"});
  table.add_row_across("async:long", "failed: the run did not end");
  EXPECT_EQ(table.text(),
            "policy      a  b\n"
            "sync        1  2\n"
            "async:long  failed: the run did not end\n");
}

TEST(TextTable, RulesAreAsWideAsTheTable) {
  TextTable table({{"x"}, {"y"}});
  table.add_rule();
  table.add_row({"10", "200"});
  EXPECT_EQ(table.text(), " x    y\n-------\n10  200\n");
}

TEST(TextTable, KeepsTheLeastWidth) {
  TextTable table({{"a", Align::kLeft, 4}, {"b", Align::kRight, 3}});
  table.add_row({"1", "2"});
  EXPECT_EQ(table.text(), "a       b\n1       2\n");
}

TEST(TextTable, CountsCharactersAndNotBytes) {
  TextTable table({{"host"}, {"n"}});
  table.add_row({"z\u00fcrich", "1"});
  table.add_row({"berlin", "2"});
  EXPECT_EQ(table.text(), "  host  n\nz\u00fcrich  1\nberlin  2\n");
}

TEST(TextTable, HasALineForTheHeaderAndForEachRow) {
  TextTable table({{"a"}});
  table.add_row({"1"});
  EXPECT_EQ(table.lines(), (std::vector<std::string>{"a", "1"}));
}

TEST(TextTableDeathTest, RefusesARowOfAnotherLength) {
  TextTable table({{"a"}, {"b"}});
  EXPECT_DEATH(table.add_row({"1"}), "");
}

}  // namespace
}  // namespace outpace
