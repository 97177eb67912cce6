// How the live server serves evaluators.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

#include "live/raw_peers_test.h"

namespace outpace::live {
namespace {

// ---- Evaluators ---------------------------------------------------------------------------------

// A job of one worker and one evaluator, both raw; the worker has its first release.
class EvaluatorTest : public OpenReleaseTest {
 protected:
  void SetUp() override {
    serve(1, {.expected = true});
    worker_ = std::make_unique<RawPeer>(address(), hello_of(0));
    const auto welcome = worker_->next_as<protocol::Welcome>();
    worker_->send(protocol::InitialWeights{}, {8, 8});
    first_ = evaluator();
    push_ = push_of(welcome, worker_->next_as<protocol::Release>());
  }
  [[nodiscard]] std::unique_ptr<RawPeer> evaluator() const {
    return std::make_unique<RawPeer>(address(), protocol::Observe{.manifest = network_of(2)});
  }
  // Answers the open release, and takes the next one.
  void push() {
    worker_->send(push_, {1, 1});
    EXPECT_EQ(worker_->next_as<protocol::Verdict>().outcome, protocol::Outcome::kAccepted);
    push_.id.sequence = worker_->next_as<protocol::Release>().sequence;
  }
  static void expect_snapshot(RawPeer& evaluator, std::uint64_t version) {
    EXPECT_EQ(evaluator.next_as<protocol::Snapshot>().version, Version{version});
  }

  std::unique_ptr<RawPeer> first_;
};

TEST_F(EvaluatorTest, ASecondOneWaitsInLineAndTakesOverWhenTheFirstLeaves) {
  const auto second = evaluator();
  ASSERT_TRUE(until_said("another evaluator has come: it waits in line"));
  push();
  expect_snapshot(*first_, 1);
  first_.reset();
  ASSERT_TRUE(until_said("the next one in line takes over"));
  push();
  expect_snapshot(*second, 2);
}

TEST_F(EvaluatorTest, ASecondOneThatGoesTakesNothingFromTheFirst) {
  auto second = evaluator();
  ASSERT_TRUE(until_said("another evaluator has come"));
  second.reset();
  push();
  expect_snapshot(*first_, 1);
  push();
  expect_snapshot(*first_, 2);
}

TEST_F(EvaluatorTest, OneThatGoesIsNews) {
  first_.reset();
  EXPECT_TRUE(until_said("nothing is measured until another one comes"));
}

TEST_F(EvaluatorTest, TheWeightsAreHandedOverBeforeAnEvaluatorThatHangs) {
  push();
  expect_snapshot(*first_, 1);
  stop(ExitCode{128 + 15});
  EXPECT_EQ(trained().size(), 2U);
  first_.reset();  // It measures nothing, but its end is the end of the wait.
  EXPECT_EQ(result().code, ExitCode{128 + 15});
}

// Whether every other thread of this process waits for something: state S of proc(5).
bool others_sleep() {
  const auto own = std::to_string(syscall(SYS_gettid));
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string stat;
    std::getline(std::ifstream(task.path() / "stat"), stat);
    if (task.path().filename() != own && !stat.empty() && stat[stat.rfind(')') + 2] != 'S') {
      return false;
    }
  }
  return true;
}

TEST_F(EvaluatorTest, TheServerSleepsWhileTheLastWeightsAreMeasured) {
  constexpr int kLooks = 1000;  // A thread that never waits for long is caught at work.
  push();
  expect_snapshot(*first_, 1);
  stop(ExitCode::kDone);
  (void)trained();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int asleep = 0;
  while (asleep < kLooks && std::chrono::steady_clock::now() < deadline) {
    asleep = others_sleep() ? asleep + 1 : 0;
    std::this_thread::yield();
  }
  EXPECT_EQ(asleep, kLooks);
  first_->send(protocol::Measurement{.version = Version{1}, .accuracy = 0.75, .loss = 0.5});
  EXPECT_EQ(result().code, ExitCode::kDone);
}

TEST_F(EvaluatorTest, TheNextInLineMeasuresTheLastWeightsInPlaceOfOneThatGoes) {
  const auto second = evaluator();
  ASSERT_TRUE(until_said("another evaluator has come"));
  push();
  expect_snapshot(*first_, 1);
  stop(ExitCode::kDone);
  (void)trained();
  first_.reset();
  expect_snapshot(*second, 1);
  second->send(protocol::Measurement{.version = Version{1}, .accuracy = 0.75, .loss = 0.5});
  const RunResult ended = result();
  ASSERT_EQ(ended.evaluations.size(), 1U);
  EXPECT_EQ(ended.evaluations.front().accuracy, 0.75);
}

TEST_F(ServerTest, ARunThatEndsWithoutAnEvaluatorStartsWithoutOneToo) {
  serve(1, {.expected = true, .patience = std::chrono::seconds(2)});
  RawPeer worker = peer(hello_of(0));
  (void)worker.next_as<protocol::Welcome>();
  worker.send(protocol::InitialWeights{}, {8, 8});
  (void)worker.next_as<protocol::Release>();
  EXPECT_TRUE(until_said("starting without the evaluator"));
}

TEST_F(ServerTest, ARunThatNeedsAnEvaluatorSaysThatNoneHasCome) {
  serve(1, {.expected = true, .needed = true, .patience = std::chrono::seconds(2)});
  RawPeer worker = peer(hello_of(0));
  (void)worker.next_as<protocol::Welcome>();
  worker.send(protocol::InitialWeights{}, {8, 8});
  const RunResult ended = result();
  EXPECT_EQ(ended.code, ExitCode::kTooFewWorkers);
  EXPECT_EQ(ended.why, "the evaluator has not come, and the run's target or policy needs one");
}

}  // namespace
}  // namespace outpace::live
