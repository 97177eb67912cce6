#include "run/scratch_directory.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

namespace fs = std::filesystem;

TEST(ScratchDirectory, LeavesAFolderOfThisNameThatItDidNotMake) {
  const TemporaryDirectory folder;
  const fs::path own = folder / "outpace-run-abcdef";
  fs::create_directory(own);
  std::ofstream(own / "thesis.tex") << "chapter 1\n";
  const ScratchDirectory scratch(folder.path());
  EXPECT_TRUE(fs::exists(own / "thesis.tex"));
}

TEST(ScratchDirectory, RemovesWhatDeadRunsLeftAndNothingElse) {
  const TemporaryDirectory folder;
  const fs::path& parent = folder.path();
  const auto with_token = [&](const char* name) {
    fs::create_directory(parent / name);
    std::ofstream(parent / name / "token") << "secret\n";
    std::ofstream(parent / name / ".outpace-scratch") << "";
    return parent / name;
  };
  const fs::path dead = with_token("outpace-run-abcdef");
  const fs::path other = with_token("outpace-run-long-name");
  std::ofstream(parent / "outpace-run-a_file") << "no directory\n";
  std::optional<ScratchDirectory> first(std::in_place, parent);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(other / "token"));
  EXPECT_TRUE(fs::exists(parent / "outpace-run-a_file"));
  std::ofstream(first->file("token")) << "secret\n";
  const ScratchDirectory second(parent);  // The first one lives.
  EXPECT_TRUE(fs::exists(first->file("token")));
  const std::string path = first->path();
  first.reset();
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace outpace::run
