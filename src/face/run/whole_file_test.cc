#include "run/whole_file.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

TEST(WholeFile, IsReadAsItWasWritten) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "x.csv").string();
  write_whole_file("plot", path, std::string("a\n\0b", 4));
  EXPECT_EQ(whole_file("table", path), std::string("a\n\0b", 4));
}

TEST(WholeFile, NamesTheOptionOfAFileThatCannotBeRead) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "absent.csv").string();
  EXPECT_EQ(refusal_of([&] { (void)whole_file("delays", path); }),
            "--delays " + path + ": cannot be read: No such file or directory");
  const std::string folder = directory.path().string();
  EXPECT_EQ(refusal_of([&] { (void)whole_file("delays", folder); }),
            "--delays " + folder + ": cannot be read: Is a directory");
}

TEST(WholeFile, IsNotEmpty) {
  const TemporaryDirectory directory;
  put(directory / "empty.csv", "");
  const std::string path = (directory / "empty.csv").string();
  EXPECT_EQ(refusal_of([&] { (void)whole_file("delays", path); }),
            "--delays " + path + ": is empty");
}

TEST(WholeFile, NamesTheOptionOfAFileThatCannotBeWritten) {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "absent" / "p.svg").string();
  EXPECT_EQ(error_of([&] { write_whole_file("plot", path, "x"); }),
            "1: --plot: cannot write " + path);
}

}  // namespace
}  // namespace outpace::run
