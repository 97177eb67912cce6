#include "run/worker_state.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

constexpr std::uint64_t kJob = 7;
constexpr Version kNow{1000};  // The job's, when a worker comes again.
constexpr auto kAfterPush = WorkerState::When::kAfterPush;
constexpr auto kAtCheckpoint = WorkerState::When::kAtCheckpoint;

class WorkerStateTest : public testing::Test {
 protected:
  static update::LocalPhase phase(const char* optimizer = "momentum:mu=0.5") {
    return {Spec::parse(optimizer), 0.0, {2}};
  }
  // A phase of one step along (1, 2); its last push.
  static std::vector<float> step(update::LocalPhase& phase) {
    const std::vector<float> released{0.0F, 0.0F};
    phase.begin(released);
    phase.gradient()[0] = 1.0F;
    phase.gradient()[1] = 2.0F;
    phase.step(0.25, 1.0, 4);
    std::vector<float> delta(2);
    phase.difference(released, delta);
    return delta;
  }
  WorkerState state(std::uint32_t worker = 3) {
    return {folder_.path() / "workers", worker, [this](const std::string& line) {
              said_.push_back(line);
            }};
  }

  const TemporaryDirectory folder_;
  const protocol::Welcome welcome_{.job = kJob, .generation = 1};
  std::vector<std::string> said_;
};

TEST_F(WorkerStateTest, AnotherProcessGoesOnAsTheFirstWouldHave) {
  update::LocalPhase first = phase();
  (void)step(first);
  state().keep(welcome_, Version{5}, kAfterPush, {.phase = &first});
  update::LocalPhase second = phase();
  EXPECT_EQ(state().take_up(welcome_, kNow, {.phase = &second}), Version{5});
  EXPECT_EQ(step(second), step(first));
  EXPECT_EQ(state(4).take_up(welcome_, kNow, {.phase = &second}),
            std::nullopt);  // Another worker's.
  EXPECT_TRUE(said_.empty());
}

TEST_F(WorkerStateTest, WhatPackingLeftBehindIsKeptBesideIt) {
  const protocol::Manifest network{.tensors = {{.name = "w", .shape = {8}}}};
  const auto compression = compress::Compression::parse("topk:share=0.1");
  const auto push = [](live::PushPacker& packer, const std::vector<float>& gradient) {
    const auto parts = packer.pack(0, gradient, nullptr);
    const std::span<const std::byte> bytes = parts.at(0).payload.bytes();
    std::vector<std::byte> sent(bytes.begin(), bytes.end());
    packer.judged(true);
    return sent;
  };
  live::PushPacker first(compression, network, {});
  (void)push(first, {8, 7, 6, 5, 4, 3, 2, 1});
  state().keep(welcome_, Version{5}, kAfterPush, {.packer = &first});
  live::PushPacker second(compression, network, {});
  EXPECT_EQ(state().take_up(welcome_, kNow, {.packer = &second}), Version{5});
  const std::vector<float> nothing(8);
  live::PushPacker anew(compression, network, {});
  const std::vector<std::byte> left = push(first, nothing);
  EXPECT_EQ(push(second, nothing), left);
  EXPECT_NE(push(anew, nothing), left);
}

TEST_F(WorkerStateTest, TheNewestIsTakenUpAndNoOlderOneKept) {
  update::LocalPhase one = phase();
  (void)step(one);
  state().keep(welcome_, Version{5}, kAfterPush, {.phase = &one});
  (void)step(one);
  state().keep({.job = kJob, .generation = 2},
               Version{4},
               kAfterPush,
               {.phase = &one});  // The server went back.
  update::LocalPhase second = phase();
  EXPECT_EQ(state().take_up(welcome_, kNow, {.phase = &second}), Version{4});
  EXPECT_EQ(step(second), step(one));
  const auto kept = std::filesystem::directory_iterator(folder_.path() / "workers" / "worker-3");
  EXPECT_EQ(std::distance(begin(kept), end(kept)), 1);
}

TEST_F(WorkerStateTest, AServerThatGoesBackFindsItAsItWasThen) {
  update::LocalPhase one = phase();
  std::vector<std::vector<float>> went_on;
  for (const std::uint64_t version : {10U, 20U, 30U}) {
    state().keep(welcome_, Version{version}, kAtCheckpoint, {.phase = &one});
    went_on.push_back(step(one));
    state().keep(welcome_, Version{version}, kAfterPush, {.phase = &one});
  }
  for (const std::size_t i : {1U, 2U}) {  // The last two.
    update::LocalPhase again = phase();
    const Version at{10 * (i + 1)};
    EXPECT_EQ(state().take_up(welcome_, at, {.phase = &again}), at);
    EXPECT_EQ(step(again), went_on[i]);
  }
  update::LocalPhase again = phase();
  EXPECT_EQ(state().take_up(welcome_, Version{35}, {.phase = &again}), Version{30});
  EXPECT_EQ(step(again), step(one)) << "the newest, for a server that has gone on";
}

TEST_F(WorkerStateTest, AnotherJobsIsNotTakenUp) {
  update::LocalPhase one = phase();
  (void)step(one);
  state().keep(welcome_, Version{5}, kAfterPush, {.phase = &one});
  EXPECT_EQ(state().take_up({.job = kJob + 1, .generation = 1}, kNow, {.phase = &one}),
            std::nullopt);
}

TEST_F(WorkerStateTest, ANewJobTakesTheFolderOver) {
  update::LocalPhase one = phase();
  (void)step(one);
  state().keep(welcome_, Version{500}, kAfterPush, {.phase = &one});
  const protocol::Welcome other{.job = kJob + 1, .generation = 1};
  state().keep(other, Version{5}, kAfterPush, {.phase = &one});
  update::LocalPhase second = phase();
  EXPECT_EQ(state().take_up(other, kNow, {.phase = &second}), Version{5});
  EXPECT_EQ(step(second), step(one));
}

TEST_F(WorkerStateTest, ItIsNotWrittenAgainAtOnce) {
  update::LocalPhase one = phase();
  (void)step(one);
  WorkerState kept = state();
  kept.keep(welcome_, Version{5}, kAfterPush, {.phase = &one});
  kept.keep(welcome_, Version{6}, kAfterPush, {.phase = &one});
  EXPECT_EQ(kept.take_up(welcome_, kNow, {.phase = &one}), Version{5});
}

TEST_F(WorkerStateTest, AnotherOptimizersIsRefused) {
  update::LocalPhase one = phase();
  (void)step(one);
  state().keep(welcome_, Version{5}, kAfterPush, {.phase = &one});
  update::LocalPhase other = phase("adam");
  const std::string why =
      error_of([&] { (void)state().take_up(welcome_, kNow, {.phase = &other}); });
  EXPECT_NE(why.find("is of momentum:mu=0.5 and 2 weights; the job has adam and 2"),
            std::string::npos)
      << why;
}

TEST_F(WorkerStateTest, ADiskThatRefusesIsSaidOnceAndTrainingGoesOn) {
  put(folder_ / "workers", "a file");
  update::LocalPhase one = phase();
  (void)step(one);
  WorkerState kept = state();
  for (int i = 0; i < 30; ++i) {
    kept.keep(welcome_, Version{5}, kAfterPush, {.phase = &one});
  }
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_NE(said_[0].find("not kept: "), std::string::npos) << said_[0];
}

}  // namespace
}  // namespace outpace::run
