#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"
#include "job/join_job.h"
#include "job/live_job.h"

namespace outpace::job {
namespace {

TEST(WorkerOptions, ReachTheServerAlikeForWorkerEvaluatorAndJoin) {
  Declared<WorkerJob> worker;
  Declared<EvaluatorJob> evaluator;
  Declared<JoinJob> join;
  worker.give("rejoin-for", "3m").give("connections", "4");
  evaluator.give("rejoin-for", "3m").give("connections", "4");
  join.give("rejoin-for", "3m").give("connections", "4");
  for (const Reaching& reaching :
       {worker.job.reaching, evaluator.job.reaching, join.job.reaching}) {
    EXPECT_EQ(reaching.rejoin_for, std::chrono::minutes(3));
    EXPECT_EQ(reaching.connections, 4U);
  }
  EXPECT_NE(refusal_of([&] { join.give("connections", "17"); }).find("17"), std::string::npos);
}

TEST(WorkerOptions, TakeACommandForTheNotice) {
  Declared<WorkerJob> worker;
  Declared<JoinJob> join;
  worker.give("on-notice", "test -e notice");
  join.give("on-notice", "test -e notice");
  EXPECT_EQ(worker.job.on_notice, "test -e notice");
  EXPECT_EQ(join.job.on_notice, "test -e notice");
}

}  // namespace
}  // namespace outpace::job
