#include "run/checkup.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

constexpr const char* kMeminfo =
    "MemTotal:       24105600 kB\nMemFree:         100 kB\nMemAvailable:   22740200 kB\n";

TEST(Checkup, IsALineForEachPart) {
  EXPECT_EQ(to_line({Grade::kGood, "memory", "much"}), "ok    memory         much");
  EXPECT_EQ(to_line({Grade::kBad, "disk", "full"}), "BAD   disk           full");
}

TEST(Checkup, ReadsWhatTheSystemSaysOfMemory) {
  const Finding whole = look_at_memory(kMeminfo, "max\n");
  EXPECT_EQ(whole.grade, Grade::kGood);
  EXPECT_EQ(whole.words, "23.0 GiB, 21.7 GiB free");
  const Finding limited = look_at_memory(kMeminfo, "268435456\n");
  EXPECT_EQ(limited.grade, Grade::kMind);
  EXPECT_NE(limited.words.find("this container may have 256.0 MiB"), std::string::npos)
      << limited.words;
}

TEST(Checkup, WritesWhereRunsWouldBeAndLeavesNothing) {
  const TemporaryDirectory folder;
  const Finding found = look_at_disk(folder.path() / "runs" / "more");
  EXPECT_NE(found.grade, Grade::kBad) << found.words;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_EQ(look_at_disk(folder.path() / "file").grade, Grade::kBad);
  EXPECT_EQ(look_at_disk("/proc/outpace").grade, Grade::kBad);
}

TEST(Checkup, MindsThatThereIsNoFolderOfSharedMemory) {
  const TemporaryDirectory folder;
  const Finding found = look_at_shared_memory(folder.path() / "shm");
  EXPECT_EQ(found.grade, Grade::kMind);
  EXPECT_NE(found.words.find("as Outpace needs it; no "), std::string::npos) << found.words;
}

TEST(Checkup, FindsThisMachineFit) {
  EXPECT_EQ(look_at_loopback().grade, Grade::kGood);
  EXPECT_EQ(look_at_clock().grade, Grade::kGood);
  EXPECT_NE(look_at_cores().grade, Grade::kBad);
  EXPECT_NE(look_at_open_files().grade, Grade::kBad);
}

}  // namespace
}  // namespace outpace::run
