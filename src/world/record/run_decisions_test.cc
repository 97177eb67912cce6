#include "record/run_decisions.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

using namespace std::chrono_literals;

Time after(int milliseconds) {
  return Time{std::chrono::milliseconds(milliseconds)};
}

class RunDecisionsOf : public testing::Test {
 protected:
  // A timer for each of these times, in milliseconds.
  void write(const std::filesystem::path& folder,
             const DecisionLogHeader& header,
             std::initializer_list<int> times) {
    std::filesystem::create_directories(folder);
    DecisionLogWriter log(folder / "decisions.jsonl", header);
    for (const int time : times) {
      log.append(after(time), policy::TimerFired{}, {});
    }
    log.close();
  }
  // The times that are read, and where servers go on: "1 2 |3".
  std::string read() {
    RunDecisions decisions(RunDirectory::open(run()));
    std::string text;
    for (LoggedDecision one; decisions.next(one);) {
      text += (text.empty() ? "" : " ") + std::string(decisions.goes_on() ? "|" : "") +
              std::to_string(one.now.time_since_epoch() / 1ms);
    }
    return text;
  }
  [[nodiscard]] std::filesystem::path run() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

TEST_F(RunDecisionsOf, OneServerAreItsLog) {
  write(run(), {.policy = "async", .workers = 2}, {1, 2});
  EXPECT_EQ(read(), "1 2");
}

TEST_F(RunDecisionsOf, SeveralServersAreOneLogWithoutWhatWasLost) {
  write(run() / "earlier" / "1", {.policy = "async", .workers = 2}, {10, 20, 30, 40});
  write(run() / "earlier" / "2",
        {.policy = "async",
         .workers = 2,
         .goes_on = GoesOn{.generation = 2, .from = after(20), .version = Version{7}}},
        {20, 50, 60});
  write(run(),
        {.policy = "sync",
         .workers = 2,
         .goes_on = GoesOn{.generation = 3, .from = after(50), .version = Version{9}}},
        {70, 80});
  EXPECT_EQ(read(), "10 20 |20 50 |70 80");
  RunDecisions decisions(RunDirectory::open(run()));
  EXPECT_EQ(decisions.header().policy, "async");
  LoggedDecision one;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(decisions.next(one));
  }
  EXPECT_EQ(decisions.goes_on()->version, Version{7});
  ASSERT_TRUE(decisions.go_to(decisions.bytes() - 10));
  EXPECT_FALSE(decisions.next(one));
  ASSERT_TRUE(decisions.go_to(0));
  ASSERT_TRUE(decisions.next(one));
  EXPECT_EQ(one.now, after(10));
}

TEST_F(RunDecisionsOf, OlderServersGoOnAtTheirFirstDecision) {
  write(run() / "earlier" / "1", {.policy = "async", .workers = 2}, {10, 20, 30});
  write(run(), {.policy = "async", .workers = 2}, {25, 35});
  EXPECT_EQ(read(), "10 20 |25 35");
}

TEST_F(RunDecisionsOf, ServersBeforeOneWithoutALogAreLeftOut) {
  write(run() / "earlier" / "1", {.policy = "async", .workers = 2}, {10});
  std::filesystem::create_directories(run() / "earlier" / "2");
  write(run(), {.policy = "async", .workers = 2}, {25});
  EXPECT_EQ(read(), "25");
  EXPECT_EQ(RunDecisions(RunDirectory::open(run())).missing(), 2U);
}

}  // namespace
}  // namespace outpace::record
