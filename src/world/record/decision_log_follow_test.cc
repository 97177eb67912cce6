// Logs that are read while their writer goes on.

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "record/decision_log.h"

namespace outpace::record {
namespace {

TEST(DecisionLog, IsFollowedWhileItsWriterGoesOn) {
  const TemporaryDirectory directory;
  DecisionLogWriter writer(directory / "d", {.policy = "async", .workers = 2});
  writer.flush();
  DecisionLogReader reader(directory / "d");
  LoggedDecision logged;
  EXPECT_FALSE(reader.next(logged));
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    writer.append(Time{Duration{worker}}, policy::WorkerJoined{WorkerId{worker}}, {});
    writer.flush();
    ASSERT_TRUE(reader.next(logged));
    EXPECT_EQ(to_text(logged.event), to_text(policy::WorkerJoined{WorkerId{worker}}));
    EXPECT_FALSE(reader.next(logged));
  }
  // Half a line is none yet.
  std::ofstream more(directory / "d", std::ios::app);
  more << R"({"now":9,"event":{"type":"timer_)" << std::flush;
  EXPECT_FALSE(reader.next(logged));
  EXPECT_TRUE(reader.cut_short());
  more << R"(fired"},"actions":[],"reason":"x"})"
       << "\n"
       << std::flush;
  ASSERT_TRUE(reader.next(logged));
  EXPECT_FALSE(reader.cut_short());
  EXPECT_EQ(logged.reason, "x");
  EXPECT_EQ(reader.line(), 4U);
}

TEST(DecisionLog, IsFollowedIntoAPartOnceItsFirstLineIsThere) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory / "decisions.jsonl";
  const std::string header = "{\"outpace_decisions\":1,\"policy\":\"sync\",\"workers\":2}\n";
  const std::string line =
      "{\"now\":1,\"event\":{\"type\":\"timer_fired\"},\"actions\":[],\"reason\":\"x\"}\n";
  put(path, header + line);
  put(part_of_log(path, 2), "");
  DecisionLogReader reader(path);
  LoggedDecision logged;
  EXPECT_TRUE(reader.next(logged));
  for (const char* begun : {"", "{\"outpace_deci"}) {
    put(part_of_log(path, 2), begun);
    EXPECT_FALSE(reader.next(logged));
    EXPECT_EQ(reader.path(), path);
  }
  put(part_of_log(path, 2), header + line);
  EXPECT_TRUE(reader.next(logged));
  EXPECT_EQ(reader.path(), part_of_log(path, 2));
  EXPECT_EQ(reader.line(), 2U);
}

}  // namespace
}  // namespace outpace::record
