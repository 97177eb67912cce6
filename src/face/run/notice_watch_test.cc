#include "run/notice_watch.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

using std::chrono::milliseconds;

// A watch that asks again at once, and what it says, line by line.
class NoticeWatchTest : public testing::Test {
 protected:
  NoticeWatch::Options asking(const std::string& command) {
    return {.command = command, .every = milliseconds(1), .most = std::chrono::hours(1)};
  }
  std::string file(const char* name) const { return (folder_.path() / name).string(); }
  // A command that counts how often it was asked, and then does this.
  std::string counting(const std::string& then) const {
    return "echo >> " + file("asked") + "; " + then;
  }
  int asked() const {
    std::ifstream lines(file("asked"));
    int count = 0;
    for (std::string line; std::getline(lines, line);) {
      ++count;
    }
    return count;
  }
  void until_asked(int times) const {
    while (asked() < times) {
      std::this_thread::yield();
    }
  }

  const TemporaryDirectory folder_;
};

TEST_F(NoticeWatchTest, ComesOnceWhenTheCommandSucceeds) {
  std::promise<void> came;  // A second time would throw.
  std::atomic<int> said = 0;
  const NoticeWatch watch(
      asking(counting("test -e " + file("notice"))),
      [&] { came.set_value(); },
      [&](const std::string& /*line*/) { ++said; });
  until_asked(3);
  auto heard = came.get_future();
  EXPECT_EQ(heard.wait_for(milliseconds(0)), std::future_status::timeout);
  std::ofstream(file("notice")) << "soon";
  heard.wait();
  EXPECT_EQ(said, 0) << "not yet is no failure";
}

TEST_F(NoticeWatchTest, OtherCodesThanThatOfACommandThatCannotBeRunSayNothing) {
  std::atomic<int> came = 0;
  std::atomic<int> said = 0;
  {
    const NoticeWatch watch(
        asking(counting("exit 22")), [&] { ++came; }, [&](const std::string& /*line*/) { ++said; });
    until_asked(3);
  }
  EXPECT_EQ(came + said, 0);
}

TEST_F(NoticeWatchTest, ACommandThatCannotBeRunIsSaidOnceAndAskedAgain) {
  std::vector<std::string> lines;
  {
    const NoticeWatch watch(
        asking(counting("exit 127")),
        [] { FAIL() << "no notice has come"; },
        [&](const std::string& line) { lines.push_back(line); });
    until_asked(3);
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0],
            "--on-notice: sh cannot run '" + counting("exit 127") +
                "' (exit code 127); training goes on, and it is tried again every 0.001 s");
}

TEST_F(NoticeWatchTest, ACommandThatHangsIsKilledAndSaidOnce) {
  std::promise<std::string> said;
  NoticeWatch::Options options = asking(counting("sleep 1000; exit 0"));
  options.most = milliseconds(100);
  const NoticeWatch watch(
      options,
      [] { FAIL() << "no notice has come"; },
      [&](const std::string& line) { said.set_value(line); });
  const std::string line = said.get_future().get();
  EXPECT_NE(line.find("took longer than 0.1 s, and was killed; training goes on"),
            std::string::npos)
      << line;
  const int before = asked();
  until_asked(before + 1);
}

TEST_F(NoticeWatchTest, EndsWhileTheCommandRuns) {
  const NoticeWatch watch(
      asking(counting("sleep 1000")),
      [] { FAIL() << "no notice has come"; },
      [](const std::string& line) { ADD_FAILURE() << line; });
  until_asked(1);
}

}  // namespace
}  // namespace outpace::run
