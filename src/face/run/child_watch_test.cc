#include "run/child_watch.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::run {
namespace {

struct Heard {
  std::vector<std::string> ends;
  std::vector<std::string> said;
  std::vector<std::string> lost;
  std::vector<std::string> all_ended;
};

class ChildWatchTest : public testing::Test {
 protected:
  live::SupervisorEvents watch(bool without_server, const std::string& needs_evaluator = "") {
    watch_ = std::make_unique<ChildWatch>(ChildWatchOptions{
        .worker_lost =
            without_server
                ? [this](const std::string& worker,
                         const std::string& how) { heard_.lost.push_back(worker + ": " + how); }
                : std::function<void(const std::string&, const std::string&)>{},
        .needs_evaluator = needs_evaluator,
        .end_run =
            [this](ExitCode code, const std::string& why) {
              heard_.ends.push_back(std::to_string(static_cast<int>(code)) + " " + why);
            },
        .workers_all_ended = [this](const std::string& why) { heard_.all_ended.push_back(why); },
        .say = [this](const std::string& line) { heard_.said.push_back(line); }});
    return watch_->events();
  }

  static live::ChildEnd worker(int code, const std::string& last_line = "") {
    return {.name = "worker 1",
            .is_worker = true,
            .code = code,
            .restarted = false,
            .last_line = last_line};
  }

  Heard heard_;
  std::unique_ptr<ChildWatch> watch_;
};

TEST_F(ChildWatchTest, ALostWorkerIsNewsAndTheHostOfARunWithoutAServerHearsOfIt) {
  watch(false).ended(worker(128 + 9));
  EXPECT_EQ(heard_.said, std::vector<std::string>{"worker 1 was ended by signal 9"});
  EXPECT_TRUE(heard_.lost.empty());
  const auto events = watch(true);
  events.ended(worker(128 + 9));
  events.ended(worker(5, "outpace: the run goes on without this worker"));
  EXPECT_TRUE(heard_.ends.empty());
  EXPECT_EQ(heard_.lost,
            (std::vector<std::string>{
                "worker 1: worker 1 was ended by signal 9",
                "worker 1: worker 1 exited with 5: the run goes on without this worker"}));
  events.ended(worker(1, "outpace: training has diverged"));
  EXPECT_EQ(heard_.ends,
            std::vector<std::string>{"1 worker 1 exited with 1: training has diverged"});
}

TEST_F(ChildWatchTest, ARefusalEndsTheRunAndTheFirstIsKept) {
  const auto events = watch(false);
  events.ended(worker(4, "outpace: another network"));
  events.ended(worker(3, "outpace: token refused"));
  EXPECT_EQ(heard_.ends.front(), "4 worker 1 exited with 4: another network");
  ASSERT_TRUE(watch_->refusal());
  EXPECT_EQ(watch_->refusal()->code(), ExitCode::kIncompatible);
  EXPECT_STREQ(watch_->refusal()->what(), "another network");
}

TEST_F(ChildWatchTest, WithoutAServerTheFirstLossIsNamedWhenAllAreLost) {
  const auto events = watch(true);
  events.ended(worker(5, "outpace: worker 3 is gone"));
  events.ended(worker(5, "outpace: worker 1 is gone"));
  EXPECT_TRUE(heard_.ends.empty());
  events.workers_all_ended();
  EXPECT_EQ(heard_.all_ended, std::vector<std::string>{"worker 1 exited with 5: worker 3 is gone"});
}

live::ChildEnd evaluator_crash(std::uint32_t in_a_row) {
  return {.name = "the evaluator",
          .is_worker = false,
          .code = 1,
          .restarted = true,
          .last_line = "outpace: no memory",
          .crashes = in_a_row,
          .restart_in = std::chrono::milliseconds(500)};
}

TEST_F(ChildWatchTest, AnEvaluatorNeverEndsARunThatEndsWithoutIt) {
  for (const bool without_server : {false, true}) {
    const auto events = watch(without_server);
    for (std::uint32_t crash = 1; crash <= 1000; ++crash) {
      events.ended(evaluator_crash(crash));
    }
    EXPECT_TRUE(heard_.ends.empty());
    EXPECT_EQ(heard_.said.front(),
              "the evaluator exited with 1: no memory; starting it again in 0.5 s; training goes "
              "on, not evaluated until then");
    EXPECT_EQ(heard_.said.size(), 10U) << "1, 2, 4 ... 512: the log of days stays short";
    heard_.said.clear();
  }
}

TEST_F(ChildWatchTest, AnEvaluatorThatIsNotStartedAgainIsNewsWithoutAPromise) {
  const auto events = watch(false);
  live::ChildEnd end = evaluator_crash(1);
  end.restarted = false;
  end.last_line = "outpace.OutpaceError: backward: this process evaluates";
  events.ended(end);
  EXPECT_EQ(
      heard_.said,
      std::vector<std::string>{"the evaluator exited with 1: backward: this process evaluates"});
}

TEST_F(ChildWatchTest, AnEvaluatorWhoseEndIsNoCrashIsNewsToo) {
  const auto events = watch(false);
  live::ChildEnd end = evaluator_crash(0);
  end.restarted = false;
  end.code = 9;
  events.ended(end);
  EXPECT_EQ(heard_.said, std::vector<std::string>{"the evaluator exited with 9: no memory"});
}

TEST_F(ChildWatchTest, ARunThatNeedsItsEvaluatorGivesUpAfterManyCrashesInARow) {
  const auto events = watch(false, "--target-accuracy");
  for (std::uint32_t crash = 1; crash < 20; ++crash) {
    events.ended(evaluator_crash(crash));
  }
  EXPECT_TRUE(heard_.ends.empty());
  EXPECT_EQ(heard_.said.at(1),
            "the evaluator exited with 1: no memory (crash 2 in a row); starting it again in 0.5 "
            "s; --target-accuracy waits for its evaluations");
  events.ended(evaluator_crash(20));
  EXPECT_EQ(heard_.ends,
            std::vector<std::string>{"1 the evaluator exited with 1: no memory: 20 crashes in a "
                                     "row without an evaluation, and --target-accuracy needs one"});
}

TEST_F(ChildWatchTest, AnEvaluatorThatRefusesItsInputEndsTheRunUnlessItIsStartedAgain) {
  live::ChildEnd end = evaluator_crash(1);
  end.code = 2;
  const auto events = watch(false);
  events.ended(end);
  EXPECT_TRUE(heard_.ends.empty());
  end.restarted = false;
  events.ended(end);
  EXPECT_EQ(heard_.ends, std::vector<std::string>{"2 the evaluator exited with 2: no memory"});
}

TEST_F(ChildWatchTest, ARunNeedsItsEvaluatorForATargetOrAPolicyThatMeasures) {
  job::Training training;
  EXPECT_EQ(needs_evaluator(training), "");
  training.policy = Spec::parse("switch(sync until loss<0.5 then async)");
  EXPECT_EQ(needs_evaluator(training), "");
  training.policy = Spec::parse("switch(sync until test-accuracy>0.5 then async)");
  EXPECT_EQ(needs_evaluator(training), "--policy switch(sync until test-accuracy>0.5 then async)");
  training.target_accuracy = 0.9;
  EXPECT_EQ(needs_evaluator(training), "--target-accuracy");
  training.policy = Spec::parse("async");
  training.past_target = true;
  EXPECT_EQ(needs_evaluator(training), "");
}

TEST_F(ChildWatchTest, AnEndInOrderSaysNothingAndASignalEndsTheRun) {
  const auto events = watch(false);
  events.ended(worker(0));
  EXPECT_TRUE(heard_.said.empty());
  events.interrupted(2);
  EXPECT_EQ(heard_.ends, std::vector<std::string>{"130 interrupted"});
  EXPECT_EQ(
      heard_.said,
      std::vector<std::string>{"signal 2: the run ends in order; a second signal ends it at once"});
}

}  // namespace
}  // namespace outpace::run
