#include "record/output_file.h"

#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/check.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

void append(OutputFile& file, std::string_view text) {
  file.buffer().append(text.data(), text.data() + text.size());
  file.end_line();
}

// While it lives, no file of this process grows beyond this number of bytes.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : signal_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit tight{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    CHECK(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  }
  ~SmallFiles() {
    CHECK(::setrlimit(RLIMIT_FSIZE, &before_) == 0);
    static_cast<void>(std::signal(SIGXFSZ, signal_before_));
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*signal_before_)(int);
  rlimit before_{};
};

TEST(OutputFile, HoldsWhatWasAppendedOnceItIsFlushed) {
  const TemporaryDirectory directory;
  OutputFile file(directory / "lines");
  append(file, "one");
  EXPECT_EQ(contents(directory / "lines"), "");
  file.flush();
  EXPECT_EQ(contents(directory / "lines"), "one\n");
  append(file, "two");
  file.close();
  EXPECT_EQ(contents(directory / "lines"), "one\ntwo\n");
}

TEST(OutputFile, WritesByItselfOnceEnoughHasComeTogether) {
  const TemporaryDirectory directory;
  OutputFile file(directory / "lines");
  append(file, std::string(100'000, 'x'));
  EXPECT_EQ(contents(directory / "lines").size(), 100'001U);
}

TEST(OutputFile, IsWrittenOutWhenItGoesAway) {
  const TemporaryDirectory directory;
  {
    OutputFile file(directory / "lines");
    append(file, "one");
  }
  EXPECT_EQ(contents(directory / "lines"), "one\n");
}

// ---- A file that may have gaps ------------------------------------------------------------------

class GapTest : public testing::Test {
 protected:
  Gaps gaps() {
    return {.told = [this](const std::string& line) { told_.push_back(line); }, .mark = "gap"};
  }
  [[nodiscard]] std::string text() const { return contents(path_); }

  const TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_ / "lines";
  std::vector<std::string> told_;
};

TEST_F(GapTest, WhatDoesNotFitIsLeftOutAndCountedAndMarked) {
  OutputFile file(path_, gaps());
  append(file, "first");
  append(file, "second");
  file.flush();
  {
    const SmallFiles limit(text().size() + 5);  // The mark fits, a line does not.
    append(file, "a third line");
    file.flush();
    append(file, "a fourth line");
    append(file, "a fifth line");
    file.flush();
    EXPECT_EQ(text(), "first\nsecond\ngap\n");
    EXPECT_EQ(told_,
              std::vector<std::string>{"cannot write " + path_.string() +
                                       ": File too large; the run goes on, and its record has a "
                                       "gap"});
  }
  append(file, "sixth");
  file.close();
  EXPECT_EQ(text(), "first\nsecond\ngap\nsixth\n");
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_.back(), path_.string() + " can be written again; 3 lines are missing");
}

TEST_F(GapTest, WithoutRoomTheMarkTakesThePlaceOfTheLastLines) {
  OutputFile file(path_, gaps());
  for (const char* line : {"first", "b", "c", "d"}) {
    append(file, line);
  }
  file.flush();
  {
    const SmallFiles limit(text().size() + 1);
    append(file, "more");
    file.close();
  }
  EXPECT_EQ(text(), "first\nb\ngap\n");
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_.back(), path_.string() + ": 3 lines are missing at its end");
}

TEST_F(GapTest, TheFirstLineStaysAndASecondGapIsToldToo) {
  OutputFile file(path_, gaps());
  append(file, "the first");
  file.flush();
  for (int gap = 0; gap < 2; ++gap) {
    {
      const SmallFiles limit(text().size() + 1);
      append(file, "more");
      file.flush();
    }
    append(file, "again");
    file.flush();
  }
  // There was no line that the first mark could replace; the second took the place of one.
  EXPECT_EQ(text(), "the first\ngap\nagain\n");
  EXPECT_EQ(told_.size(), 4U);
}

TEST_F(GapTest, ADeviceThatIsFullIsToldOnce) {
  OutputFile file("/dev/full", gaps());
  for (int line = 0; line < 10; ++line) {
    append(file, "one");
    file.flush();
  }
  EXPECT_EQ(told_.size(), 1U);
  file.close();
  EXPECT_EQ(told_.back(), "/dev/full: 10 lines are missing at its end");
}

TEST(OutputFile, SaysInOneLineThatTheDiskIsFull) {
  OutputFile file("/dev/full");
  append(file, "one");
  EXPECT_EQ(error_of([&] { file.close(); }), "1: cannot write /dev/full: No space left on device");
}

TEST(OutputFile, SaysInOneLineThatThereIsNoSuchFolder) {
  EXPECT_EQ(error_of([] { OutputFile file("/nowhere/lines"); }),
            "1: cannot write /nowhere/lines: No such file or directory");
}

TEST(WriteAtomically, ReplacesTheFileAndLeavesNothingElse) {
  const TemporaryDirectory directory;
  put(directory / "file", "a longer text that was there before");
  write_atomically(directory / "file", "new");
  EXPECT_EQ(contents(directory / "file"), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(WriteAtomically, KeepsTheOldFileIfTheNewOneDoesNotFit) {
  const TemporaryDirectory directory;
  put(directory / "file", "old");
  std::string error;
  {
    const SmallFiles limit(10);
    error = error_of([&] { write_atomically(directory / "file", std::string(100, 'x')); });
  }
  EXPECT_EQ(error, "1: cannot write " + (directory / "file").string() + ": File too large");
  EXPECT_EQ(contents(directory / "file"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(WriteAtomically, WritesToADeviceInsteadOfReplacingIt) {
  write_atomically("/dev/null", "text");
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
  EXPECT_EQ(error_of([] { write_atomically("/dev/full", "text"); }),
            "1: cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace outpace::record
