// Every kept input of fuzz/corpus/ against its target, without libFuzzer. A finding of `make fuzz`
// becomes a file there.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "targets.h"

namespace outpace::fuzz {
namespace {

using Target = void (*)(Bytes);

std::vector<std::uint8_t> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The inputs of the target with this name, in the order of their names.
std::vector<std::filesystem::path> inputs_of(const std::string& name) {
  std::vector<std::filesystem::path> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(OUTPACE_FUZZ_CORPUS "/" + name)) {
    inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

void replay(const std::string& name, Target target) {
  const std::vector<std::filesystem::path> inputs = inputs_of(name);
  EXPECT_GE(inputs.size(), 5U);
  for (const std::filesystem::path& input : inputs) {
    const std::vector<std::uint8_t> bytes = read(input);
    EXPECT_NO_THROW(target(bytes)) << input;
  }
}

TEST(Replay, EveryKeptHandshakeIsAnsweredByTheRules) {
  replay("handshake", handshake);
}

TEST(Replay, EveryKeptRecordIsTheSameInPiecesAndSentAgain) {
  replay("record", record);
}

TEST(Replay, EveryKeptMessageThatDecodesEncodesToTheSame) {
  replay("message", message);
}

TEST(Replay, EveryKeptPackedPayloadIsReadOrRefused) {
  replay("packed", packed);
}

TEST(Replay, EveryKeptBundleIsTheStreamInOrder) {
  replay("bundle", bundle);
}

TEST(Replay, AFindingIsThrown) {
  EXPECT_NO_THROW(hold(true, "held"));
  EXPECT_THROW(hold(false, "did not hold"), Finding);
}

TEST(Replay, BytesMoveInTheStepsOfTheInput) {
  const std::vector<std::uint8_t> input = {3, 0, 5, 129, 'r', 'e', 's', 't'};
  Bytes bytes(input);
  Steps steps(bytes);
  EXPECT_EQ(as_text(bytes), "rest");
  for (const std::size_t expected : {0U, 5U, 1024U, 0U, 5U}) {
    EXPECT_EQ(steps.next(), expected);
  }
  EXPECT_EQ(Steps().next(), SIZE_MAX);
}

}  // namespace
}  // namespace outpace::fuzz
