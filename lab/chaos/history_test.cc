#include "chaos/history.h"

#include <gtest/gtest.h>

namespace outpace::chaos {
namespace {

TEST(ChaosHistory, ALineComesBackAsItWas) {
  const Record record{.at = 12,
                      .who = "worker 3",
                      .process = 4711,
                      .what = "judged",
                      .more = {{"outcome", "accepted"}}};
  const std::string line = to_line(record);
  EXPECT_EQ(line,
            R"({"at":12,"who":"worker 3","process":4711,"what":"judged","outcome":"accepted"})");
  const auto again = parse_record(line);
  ASSERT_TRUE(again);
  EXPECT_EQ(to_line(*again), line);
  EXPECT_EQ(again->get<std::string>("outcome"), "accepted");
  EXPECT_EQ(again->get<int>("outcome", 7), 7);
  EXPECT_EQ(again->get<int>("nothing", 8), 8);
}

TEST(ChaosHistory, ALineThatItsWriterDidNotFinishIsNone) {
  EXPECT_FALSE(parse_record(R"({"at":12,"who":"worker 3","what":"jud)"));
  EXPECT_FALSE(parse_record(""));
  EXPECT_FALSE(parse_record("[1]"));
  EXPECT_FALSE(parse_record(R"({"at":"12","who":"a","what":"b"})"));
}

TEST(ChaosHistory, ManyTextsAreOneInTheOrderOfTime) {
  const std::vector<Record> all =
      merge({"{\"at\":1,\"who\":\"a\",\"what\":\"x\"}\n"
             "{\"at\":3,\"who\":\"a\",\"what\":\"y\"}\n"
             "{\"at\":3,\"who\":\"a\",\"what\":\"z\"}\n{\"at\":4,",
             "{\"at\":2,\"who\":\"b\",\"what\":\"x\"}\n"});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].who, "b");
  EXPECT_EQ(all[2].what, "y");
  EXPECT_EQ(all[3].what, "z");
}

}  // namespace
}  // namespace outpace::chaos
