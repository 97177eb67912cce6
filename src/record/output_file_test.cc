#include "record/output_file.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

void append(OutputFile& file, std::string_view text) {
  file.buffer().append(text.data(), text.data() + text.size());
  file.end_line();
}

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
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{.rlim_cur = 10, .rlim_max = before.rlim_max};
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const std::string error =
      error_of([&] { write_atomically(directory / "file", std::string(100, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  static_cast<void>(std::signal(SIGXFSZ, signal_before));
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
