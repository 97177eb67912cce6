#include "run/keep_runtime_model.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

TEST(KeepRuntimeModel, CopiesTheFileToTheBit) {
  const TemporaryDirectory folder;
  const std::string bytes("a\n\0b", 4);
  put(folder / "model", bytes);
  const auto directory = record::RunDirectory::create_at(folder / "run");
  keep_runtime_model((folder / "model").string(), directory);
  EXPECT_EQ(contents(directory.runtime_model()), bytes);
}

TEST(KeepRuntimeModel, DoesNothingForAPolicyWithoutAFile) {
  const TemporaryDirectory folder;
  const auto directory = record::RunDirectory::create_at(folder / "run");
  keep_runtime_model("", directory);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(KeepRuntimeModel, NamesAFileThatCannotBeCopied) {
  const TemporaryDirectory folder;
  const std::string absent = (folder / "absent").string();
  const auto directory = record::RunDirectory::create_at(folder / "run");
  EXPECT_EQ(error_of([&] { keep_runtime_model(absent, directory); }),
            "1: cannot copy " + absent + " to " + directory.runtime_model().string() +
                ": No such file or directory");
}

}  // namespace
}  // namespace outpace::run
