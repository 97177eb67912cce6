#include "checkpoint/checkpoint.h"

#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::checkpoint {
namespace {

namespace fs = std::filesystem;

Checkpoint of_update(std::uint64_t update, std::uint32_t generation = 1) {
  Checkpoint made{.head = {.job = 7,
                           .generation = generation,
                           .version = Version{update},
                           .policy = "async",
                           .program = "outpace 0"},
                  .state = {}};
  made.state.json["update"] = update;
  made.state.tensors["weights"] = {1.0F, static_cast<float>(update)};
  made.state.tensors["velocity"] = {3.0F};
  return made;
}

void ignore_skipped(const std::string& /*why*/) {}

TEST(Checkpoint, IsReadAsItWasWritten) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(5));
  const Checkpoint read_back = read_newest(directory.path(), ignore_skipped);
  EXPECT_EQ(read_back.head.job, 7U);
  EXPECT_EQ(read_back.head.version, Version{5});
  EXPECT_EQ(read_back.head.policy, "async");
  EXPECT_EQ(read_back.state.json["update"], 5);
  EXPECT_EQ(read_back.state.tensors, of_update(5).state.tensors);
}

TEST(Checkpoint, OfALaterGenerationIsNewer) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(900, 1));
  write(directory.path(), of_update(1000, 1));
  write(directory.path(), of_update(950, 2));
  EXPECT_EQ(read_newest(directory.path(), ignore_skipped).head.version, Version{950});
  remove_old(directory.path(), 2);
  ASSERT_EQ(list(directory.path()).size(), 2U);
  EXPECT_EQ(list(directory.path()).back().filename(), "g0001-u000000001000");
}

TEST(Checkpoint, OfTheTenThousandthGenerationIsNewerThanTheOneBefore) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(5, 9'999));
  write(directory.path(), of_update(5, 10'000));
  EXPECT_EQ(read_newest(directory.path(), ignore_skipped).head.generation, 10'000U);
}

TEST(Checkpoint, OfAnUpdateThatHasOneTakesItsPlace) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(5));
  Checkpoint again = of_update(5);
  again.state.json["update"] = 6;
  write(directory.path(), again);
  ASSERT_EQ(list(directory.path()).size(), 1U);
  EXPECT_EQ(read_newest(directory.path(), ignore_skipped).state.json["update"], 6);
}

// Every file cut at each of 64 places, and changed in one byte: never read, and the one before is.
TEST(Checkpoint, ThatIsDamagedIsNotRead) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(1));
  write(directory.path(), of_update(2));
  const fs::path newest = list(directory.path()).front();
  int tried = 0;
  for (const char* name : {"checkpoint.json", "state.json", "tensors.safetensors"}) {
    const fs::path path = newest / name;
    std::ifstream file(path, std::ios::binary);
    const std::string good{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t part = 0; part < 64; ++part) {
      const std::size_t at = good.size() * part / 64;
      std::string changed = good;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      for (const std::string& bad : {good.substr(0, at), changed}) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
        std::string why;
        const Checkpoint found =
            read_newest(directory.path(), [&](const std::string& line) { why = line; });
        EXPECT_EQ(found.head.version, Version{1}) << name << ", byte " << at;
        EXPECT_NE(why.find(newest.string()), std::string::npos) << why;
        ++tried;
      }
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << good;
  }
  EXPECT_EQ(tried, 3 * 64 * 2);
  EXPECT_EQ(read_newest(directory.path(), ignore_skipped).head.version, Version{2});
}

TEST(Checkpoint, WhoseWeightsAreNotFiniteIsPassedOver) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(1));
  Checkpoint poisoned = of_update(2);
  poisoned.state.tensors["shard/weights"] = {1.0F, std::numeric_limits<float>::infinity()};
  write(directory.path(), poisoned);
  std::string why;
  EXPECT_EQ(
      read_newest(directory.path(), [&](const std::string& line) { why = line; }).head.version,
      Version{1});
  EXPECT_NE(why.find("has weights that are not finite: the training had diverged"),
            std::string::npos)
      << why;
}

TEST(Checkpoint, OfAnotherFormatSaysWhoWroteIt) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(1));
  const fs::path one = list(directory.path()).front();
  std::ofstream(one / "checkpoint.json") << R"({"format": 9, "program": "outpace 9.0"})";
  const std::string why = error_of([&] { (void)read(one); });
  EXPECT_NE(why.find("has format 9, this program reads format 6"), std::string::npos) << why;
  EXPECT_NE(why.find("outpace 9.0"), std::string::npos) << why;
}

TEST(Checkpoint, IsNotThereBeforeTheRunBegins) {
  const TemporaryDirectory directory;
  const std::string why = error_of([&] { (void)read_newest(directory / "none", ignore_skipped); });
  EXPECT_NE(why.find("has no checkpoint"), std::string::npos) << why;
}

TEST(Checkpoint, ThatCannotBeWrittenLeavesTheOthersAndNothingElse) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(1));
  std::ofstream(directory / "g0001-u000000000002.unfinished") << "a file in the way";
  write(directory.path(), of_update(2));  // It is removed.
  EXPECT_EQ(list(directory.path()).size(), 2U);
  const std::string why = error_of([&] { write("/proc/nothing", of_update(3)); });
  EXPECT_NE(why.find("cannot make the directory"), std::string::npos) << why;
}

TEST(Checkpoint, ThatWasInterruptedIsRemovedWithTheOld) {
  const TemporaryDirectory directory;
  write(directory.path(), of_update(1));
  fs::create_directories(directory / "g0001-u000000000002.unfinished");
  EXPECT_EQ(list(directory.path()).size(), 1U);
  remove_old(directory.path(), 3);
  EXPECT_FALSE(fs::exists(directory / "g0001-u000000000002.unfinished"));
  EXPECT_EQ(list(directory.path()).size(), 1U);
}

}  // namespace
}  // namespace outpace::checkpoint
