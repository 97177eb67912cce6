#include "run/echo.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

TEST(Echo, ShowsEachWholeLineOnceAndTheRestAtTheEnd) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "worker-0.out").string();
  std::ofstream file(path);
  file << "of an earlier start\n" << std::flush;
  std::vector<std::string> shown;
  Echo echo([&](const std::string& line) { shown.push_back(line); });
  echo.follow(path, "worker 0");
  echo.follow((folder / "nowhere").string(), "worker 1");
  echo.look();
  EXPECT_TRUE(shown.empty());
  file << "epoch 1\nepoch" << std::flush;
  echo.look();
  echo.look();
  EXPECT_EQ(shown, (std::vector<std::string>{"worker 0: epoch 1"}));
  file << " 2\nlo" << std::flush;
  echo.look();
  file << "ss" << std::flush;
  echo.finish();
  EXPECT_EQ(shown,
            (std::vector<std::string>{"worker 0: epoch 1", "worker 0: epoch 2", "worker 0: loss"}));
}

TEST(Echo, BeginsAgainWithAFileThatWasEmptied) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "worker-0.out").string();
  std::vector<std::string> shown;
  Echo echo([&](const std::string& line) { shown.push_back(line); });
  echo.follow(path, "worker 0");
  std::ofstream(path) << "epochs 1 to 100\n";
  echo.look();
  std::ofstream(path) << "epoch 101\n";  // Truncates it.
  echo.look();
  EXPECT_EQ(shown, (std::vector<std::string>{"worker 0: epochs 1 to 100", "worker 0: epoch 101"}));
}

TEST(Echo, LeavesLinesInTheFileUntilThereIsRoom) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "worker-0.out").string();
  std::vector<std::string> shown;
  bool room = false;
  Echo echo([&](const std::string& line) { shown.push_back(line); }, [&] { return room; });
  echo.follow(path, "worker 0");
  std::ofstream(path) << "epoch 1\nepoch 2\n";
  echo.look();
  EXPECT_TRUE(shown.empty());
  room = true;
  echo.look();
  EXPECT_EQ(shown, (std::vector<std::string>{"worker 0: epoch 1", "worker 0: epoch 2"}));
  std::ofstream(path, std::ios::app) << "epoch 3\n";
  room = false;
  shown.clear();
  echo.finish([] { return false; });
  EXPECT_EQ(shown, (std::vector<std::string>{"worker 0: the rest of its output is in " + path}));
}

}  // namespace
}  // namespace outpace::run
