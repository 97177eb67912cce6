#include "run/checkpoint_writer.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

using namespace std::chrono_literals;

// What was recorded before a checkpoint takes its time; a checkpoint that came first would be seen.
TEST(CheckpointWriter, WhatWasRecordedIsWrittenBeforeTheCheckpoint) {
  const TemporaryDirectory directory;
  const std::filesystem::path folder = directory / "checkpoints";
  std::atomic<bool> recorded = false;
  bool came_first = false;
  record::WriteQueue queue;
  {
    CheckpointWriter writer({.folder = folder,
                             .head = {.job = 1, .policy = "sync", .program = "outpace"},
                             .before = queue,
                             .warn = [](const std::string& line) { FAIL() << line; },
                             .note = [&](const std::string& /*line*/) { EXPECT_TRUE(recorded); }});
    ASSERT_TRUE(queue.add(1, [&] {
      const auto end = std::chrono::steady_clock::now() + 100ms;
      while (!came_first && std::chrono::steady_clock::now() < end) {
        came_first = !checkpoint::list(folder).empty();
        std::this_thread::yield();
      }
      recorded = true;
    }));
    writer.take(Version{1}, [](Archive& archive) {
      double loss = 0.5;
      archive("loss", loss);
    });
  }
  EXPECT_FALSE(came_first);
  EXPECT_EQ(checkpoint::list(folder).size(), 1U);
}

}  // namespace
}  // namespace outpace::run
