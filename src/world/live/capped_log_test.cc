#include "live/capped_log.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::live {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(CappedLog, MovesTheNewestBytesAsideAndGoesOnAtTheBegin) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "worker-0.log").string();
  std::ofstream child(path, std::ios::app);
  child << "0123456789" << std::flush;
  cap_log(path, 10);
  EXPECT_EQ(text_of(path), "0123456789") << "it is not larger";
  child << "abc" << std::flush;
  cap_log(path, 10);
  EXPECT_EQ(text_of(path), "");
  EXPECT_EQ(text_of(path + ".1"), "3456789abc");
  child << "def" << std::flush;
  EXPECT_EQ(text_of(path), "def");
  child << "ghijklmnop" << std::flush;
  cap_log(path, 10);
  EXPECT_EQ(text_of(path + ".1"), "ghijklmnop") << "in place of what was there";
}

TEST(CappedLog, LeavesTheFileWhereItCannotBeCopied) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "worker-0.log").string();
  std::ofstream(path) << "0123456789";
  std::filesystem::create_directories(path + ".1/in-the-way");
  cap_log(path, 5);
  EXPECT_EQ(text_of(path), "0123456789");
  EXPECT_FALSE(std::filesystem::exists(path + ".1.tmp"));
  cap_log((folder / "nowhere").string(), 5);
  EXPECT_FALSE(std::filesystem::exists(folder / "nowhere"));
}

}  // namespace
}  // namespace outpace::live
