#include "record/run_directory.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(RunDirectory, ThatGoesOnMovesItsOwnFilesAloneToTheEarlierOnes) {
  const TemporaryDirectory directory;
  const std::vector<std::string> own{"decisions.jsonl",
                                     "decisions-2.jsonl.zst",
                                     "decisions-2.jsonl.zst.tmp-7",
                                     "metrics.jsonl",
                                     "runtimes.csv",
                                     "server.log",
                                     "summary.json",
                                     "weights.safetensors",
                                     "constants.safetensors",
                                     "decisions-12.jsonl",
                                     "config.toml.tmp-7",
                                     "logs"};
  const std::vector<std::string> others{"config.toml",
                                        "notes.md",
                                        "best-model.pt",
                                        "token",
                                        "lock",
                                        "control.json",
                                        "checkpoints",
                                        "my-logs",
                                        "logs.txt",
                                        "decisions.csv",
                                        "decisions-notes.jsonl",
                                        "model.pt.tmp-7",
                                        "config.toml.tmp-mine",
                                        kRuntimeModelName};
  for (const auto& names : {own, others}) {
    for (const std::string& name : names) {
      put(directory.path() / name, name);
    }
  }
  (void)RunDirectory::reopen(directory.path(), 3);
  for (const std::string& name : own) {
    EXPECT_FALSE(std::filesystem::exists(directory.path() / name)) << name;
    EXPECT_EQ(contents(directory / "earlier/2" / name), name);
  }
  for (const std::string& name : others) {
    EXPECT_EQ(contents(directory.path() / name), name);
  }
  EXPECT_EQ(contents(directory / "earlier/2/config.toml"), "config.toml")
      << "other ranks read both";
}

TEST(RunDirectory, KeepsTheRecordsOfAllServersThatDiedWithTheSameGeneration) {
  const TemporaryDirectory directory;
  for (const char* server : {"first", "second", "third"}) {
    std::filesystem::create_directories(directory / "logs");
    put(directory / "logs/worker-0.log", server);
    put(directory / "decisions.jsonl", server);
    (void)RunDirectory::reopen(directory.path(), 2);
  }
  for (const auto& [folder, server] :
       {std::pair{"1", "first"}, std::pair{"1-2", "second"}, std::pair{"1-3", "third"}}) {
    const auto earlier = directory / "earlier" / folder;
    EXPECT_EQ(contents(earlier / "logs/worker-0.log"), server);
    EXPECT_EQ(contents(earlier / "decisions.jsonl"), server);
  }
}

TEST(RunDirectory, ThinsTheRecordsOfServersWithoutACheckpointFirst) {
  const TemporaryDirectory directory;
  const RunDirectory run = RunDirectory::open(directory.path());
  const std::string ten = "0123456789";
  for (const char* server : {"1", "1-2"}) {
    std::filesystem::create_directories(run.earlier() / server);
    put(run.earlier() / server / "decisions.jsonl", ten);
  }
  EXPECT_EQ(run.cap_earlier(10), 0U) << "what is left may stay";
  EXPECT_FALSE(std::filesystem::exists(run.earlier() / "1-2/decisions.jsonl"));
  EXPECT_EQ(contents(run.earlier(1) / "decisions.jsonl"), ten);
}

TEST(RunDirectory, ThinsTheFirstServersRecordsUntilTheRestIsSmall) {
  const TemporaryDirectory directory;
  const RunDirectory run = RunDirectory::open(directory.path());
  const std::string ten = "0123456789";
  for (const std::uint32_t server : {0U, 1U, 3U}) {  // 0 is of a run that began again.
    std::filesystem::create_directories(run.earlier(server) / "logs");
    for (const char* name : {"decisions.jsonl", "decisions-2.jsonl", "logs/worker-0.log"}) {
      put(run.earlier(server) / name, ten);
    }
    put(run.earlier(server) / "summary.json", ten);
  }
  EXPECT_EQ(run.cap_earlier(120), 0U) << "as many as there are";
  EXPECT_EQ(run.cap_earlier(60), 2U);
  for (const std::uint32_t server : {0U, 1U}) {
    EXPECT_FALSE(std::filesystem::exists(run.earlier(server) / "decisions.jsonl"));
    EXPECT_FALSE(std::filesystem::exists(run.earlier(server) / "decisions-2.jsonl"));
    EXPECT_FALSE(std::filesystem::exists(run.earlier(server) / "logs"));
    EXPECT_EQ(contents(run.earlier(server) / "summary.json"), ten);
  }
  EXPECT_EQ(contents(run.earlier(3) / "logs/worker-0.log"), ten);
  EXPECT_EQ(run.cap_earlier(1), 3U) << "and no more than there are";
}

TEST(RunDirectory, CanBeOpenedToRead) {
  const TemporaryDirectory directory;
  EXPECT_EQ(RunDirectory::open(directory.path()).path(), directory.path());
  EXPECT_EQ(error_of([] { static_cast<void>(RunDirectory::open("/nowhere")); }),
            "2: /nowhere is not a run's directory");
}

TEST(RunDirectory, IsNotOpenedWithAPipeInPlaceOfAFile) {
  for (const char* name : {"decisions.jsonl", "decisions-2.jsonl", "earlier/1/metrics.jsonl"}) {
    const TemporaryDirectory directory;
    std::filesystem::create_directories(directory / "earlier/1");
    ASSERT_EQ(mkfifo((directory / name).c_str(), 0600), 0);
    EXPECT_EQ(error_of([&] { static_cast<void>(RunDirectory::open(directory.path())); }),
              "2: " + (directory / name).string() +
                  ": is no regular file, so it is not of a run's record");
  }
  const TemporaryDirectory directory;
  ASSERT_EQ(mkfifo((directory / "notes").c_str(), 0600), 0);
  EXPECT_EQ(RunDirectory::open(directory.path()).path(), directory.path());
}

}  // namespace
}  // namespace outpace::record
