#include "record/tensorboard.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

// The messages of the records, checked by what TensorFlow's record format says of checksums.
std::vector<std::string> records(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto masked = [](std::string_view part) {
    const std::uint32_t crc = crc32c(part);
    return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U;
  };
  const auto word = [&](std::size_t at) {
    std::uint32_t found = 0;
    std::memcpy(&found, bytes.data() + at, sizeof(found));
    return found;
  };
  std::vector<std::string> found;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = word(at);
    EXPECT_EQ(word(at + 8), masked(std::string_view(bytes).substr(at, 8)));
    found.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(word(at + 12 + length), masked(found.back()));
    at += length + 16;
  }
  return found;
}

std::filesystem::path only_file(const std::filesystem::path& folder) {
  return std::filesystem::directory_iterator(folder)->path();
}

TEST(TensorBoardLog, BeginsWithTheVersionOfTheFormat) {
  const TemporaryDirectory folder;
  const TensorBoardLog log(folder.path() / "new", "run", {1e9}, nullptr);
  const std::filesystem::path file = only_file(folder.path() / "new");
  EXPECT_EQ(file.filename(), "events.out.tfevents.1000000000.run");
  const auto found = records(file);
  ASSERT_EQ(found.size(), 1U);
  // Field 1 as a double, then field 3 with 13 characters.
  EXPECT_EQ(found[0], std::string("\x09\0\0\0\0\x65\xcd\xcd\x41\x1a\x0d", 11) + "brain.Event:2");
}

TEST(TensorBoardLog, ThatGoesOnSaysWhichUpdatesWereLost) {
  const TemporaryDirectory folder;
  const TensorBoardLog log(folder.path(), "run", {.wall = {1e9}, .goes_on = Version{299}}, nullptr);
  const auto found = records(only_file(folder.path()));
  ASSERT_EQ(found.size(), 2U);
  // Field 1 as a double, the step 300, and a session log with status 1.
  EXPECT_EQ(found[1], std::string("\x09\0\0\0\0\x65\xcd\xcd\x41\x10\xac\x02\x3a\x02\x08\x01", 16));
}

TEST(TensorBoardLog, AnEvaluationIsTwoScalarsAtItsUpdate) {
  const TemporaryDirectory folder;
  TensorBoardLog log(folder.path(), "run", {1e9}, nullptr);
  log.append({2.0}, {.version = Version{300}, .accuracy = 0.5, .loss = 2.0});
  const auto found = records(only_file(folder.path()));
  ASSERT_EQ(found.size(), 2U);
  const std::string accuracy =
      std::string("\x0a\x0d", 2) + "accuracy/test" + std::string("\x15\0\0\0\x3f", 5);
  const std::string loss =
      std::string("\x0a\x09", 2) + "loss/test" + std::string("\x15\0\0\0\x40", 5);
  EXPECT_EQ(found[1],
            std::string("\x09\0\0\0\0\0\0\0\x40\x10\xac\x02\x2a\x28\x0a\x14", 16) + accuracy +
                std::string("\x0a\x10", 2) + loss);
}

TEST(TensorBoardLog, ATestLossThatWasNotMeasuredIsLeftOut) {
  const TemporaryDirectory folder;
  TensorBoardLog log(folder.path(), "run", {1e9}, nullptr);
  log.append({2.0}, {.version = Version{300}, .accuracy = 0.5, .loss = {}});
  const auto found = records(only_file(folder.path()));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[1].find("accuracy/test"), std::string::npos);
  EXPECT_EQ(found[1].find("loss/test"), std::string::npos);
}

TEST(TensorBoardLog, ALossThatIsNotKnownYetIsLeftOut) {
  const TemporaryDirectory folder;
  TensorBoardLog log(folder.path(), "run", {1e9}, nullptr);
  log.append({2.0}, Status{.updates = 1, .live = 3});
  log.append({3.0}, Status{.updates = 2, .training_loss = 1.5, .live = 3});
  const auto found = records(only_file(folder.path()));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].find("loss/training"), std::string::npos);
  EXPECT_NE(found[2].find("loss/training"), std::string::npos);
  EXPECT_NE(found[1].find("workers/live"), std::string::npos);
}

TEST(TensorBoardLog, AFolderThatCannotBeMadeIsNamed) {
  try {
    const TensorBoardLog log("/proc/nowhere", "run", {1e9}, nullptr);
    ADD_FAILURE() << "it was made";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "cannot write /proc/nowhere/events.out.tfevents.1000000000.run: No such file or directory");
  }
}

TEST(TensorBoardLog, AFullDiskEndsTheFileAndIsSaidOnce) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "events.out.tfevents.1.run";
  std::filesystem::create_symlink("/dev/full", file);
  std::vector<std::string> said;
  TensorBoardLog log(
      folder.path(), "run", {1.0}, [&](const std::string& line) { said.push_back(line); });
  log.append({2.0}, Status{.updates = 1});
  log.append({3.0}, Status{.updates = 2});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0],
            "cannot write " + file.string() +
                ": No space left on device; TensorBoard sees the run until here");
}

}  // namespace
}  // namespace outpace::record
