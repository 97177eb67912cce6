#include "record/run_directory.h"

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::system_clock::time_point kStarted =
    std::chrono::sys_days{std::chrono::year{2027} / 3 / 9} + 7h + 5min + 59s + 999ms;

TEST(RunDirectory, IsNamedByItsStartInUtcAndItsPolicy) {
  const TemporaryDirectory directory;
  const auto run = RunDirectory::create(directory / "runs", kStarted, "backup:cutoff=6");
  EXPECT_EQ(run.path(), directory.path() / "runs" / "20270309-070559-backup-cutoff-6");
  EXPECT_TRUE(std::filesystem::is_directory(run.path()));
  EXPECT_EQ(run.decisions(), run.path() / "decisions.jsonl");
  EXPECT_EQ(run.weights(), run.path() / "weights.safetensors");
}

TEST(RunDirectory, GetsANumberIfItsNameIsTaken) {
  const TemporaryDirectory directory;
  const auto name = [&] {
    return RunDirectory::create(directory.path(), kStarted, "async").path().filename();
  };
  EXPECT_EQ(name(), "20270309-070559-async");
  EXPECT_EQ(name(), "20270309-070559-async-2");
  put(directory / "20270309-070559-async-3", "a file in the way");
  EXPECT_EQ(name(), "20270309-070559-async-4");
}

TEST(RunDirectory, StaysInItsFolderWhateverThePolicysOptions) {
  const TemporaryDirectory directory;
  const auto run = RunDirectory::create(
      directory.path(), kStarted, "dynamic:file=/../../" + std::string(300, 'x'));
  EXPECT_EQ(run.path().parent_path(), directory.path());
}

TEST(RunDirectory, IsTheOneAskedForIfThatIsNewOrEmpty) {
  const TemporaryDirectory directory;
  EXPECT_EQ(RunDirectory::create_at(directory / "a/b").path(), directory / "a/b");
  EXPECT_EQ(RunDirectory::create_at(directory / "a/b").path(), directory / "a/b");
}

TEST(RunDirectory, NeverOverwritesAnother) {
  const TemporaryDirectory directory;
  put(directory / "summary.json", "{}");
  EXPECT_EQ(error_of([&] { static_cast<void>(RunDirectory::create_at(directory.path())); }),
            "2: --out " + directory.path().string() +
                " is not empty; name a new directory, since a run overwrites no other");
  EXPECT_EQ(
      error_of([&] { static_cast<void>(RunDirectory::create_at(directory / "summary.json")); }),
      "2: --out " + (directory / "summary.json").string() + " is not a directory");
}

TEST(RunDirectory, SaysInOneLineThatItCannotBeMade) {
  EXPECT_EQ(error_of([] { static_cast<void>(RunDirectory::create_at("/proc/run")); }),
            "1: cannot make the directory /proc/run: No such file or directory");
  EXPECT_EQ(error_of([] { static_cast<void>(RunDirectory::create("/proc", kStarted, "sync")); }),
            "1: cannot make the directory /proc/20270309-070559-sync: No such file or directory");
}

TEST(RunDirectory, CanBeOpenedToRead) {
  const TemporaryDirectory directory;
  EXPECT_EQ(RunDirectory::open(directory.path()).path(), directory.path());
  EXPECT_EQ(error_of([] { static_cast<void>(RunDirectory::open("/nowhere")); }),
            "2: /nowhere is not a run's directory");
}

}  // namespace
}  // namespace outpace::record
