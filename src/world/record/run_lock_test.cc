#include "record/run_lock.h"

#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

TEST(RunLock, IsHeldByOneAtATime) {
  const TemporaryDirectory directory;
  std::optional<RunLock> first(directory / "lock");
  try {
    const RunLock second(directory / "lock");
    FAIL() << "two hold it";
  } catch (const Error& error) {
    const std::string why = error.what();
    EXPECT_NE(why.find("in process " + std::to_string(::getpid())), std::string::npos) << why;
  }
  first.reset();
  const RunLock third(directory / "lock");
}

TEST(RunLock, LeavesAlonePlacesThatALinkLeadsTo) {
  const TemporaryDirectory directory;
  put(directory / "thesis.tex", "chapter 1");
  std::filesystem::create_symlink(directory / "thesis.tex", directory / "lock");
  EXPECT_NE(error_of([&] { const RunLock lock(directory / "lock"); }), "");
  EXPECT_EQ(contents(directory / "thesis.tex"), "chapter 1");
  std::filesystem::remove(directory / "lock");
  std::filesystem::create_hard_link(directory / "thesis.tex", directory / "lock");
  EXPECT_NE(error_of([&] { const RunLock lock(directory / "lock"); }), "");
  EXPECT_EQ(contents(directory / "thesis.tex"), "chapter 1");
}

}  // namespace
}  // namespace outpace::record
