#include "job/reduce_job.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::job {
namespace {

TEST(ReduceJob, TakesPoliciesWhoseWorkersBeginTogether) {
  for (const char* policy : {"sync", "backup:cutoff=2", "dynamic", "kbatchsync:k=2"}) {
    EXPECT_EQ(why_not_here(Spec::parse(policy)), "") << policy;
  }
  for (const char* policy :
       {"async", "ssp:s=2", "kasync:k=2", "switch(sync until updates>9 then async)"}) {
    EXPECT_NE(why_not_here(Spec::parse(policy)), "") << policy;
  }
}

TEST(ReduceJob, ListensOnItsMachineAlone) {
  ReduceJob job;
  check(job);
  job.listen = "unix:/run/here";
  check(job);
  job.listen = "127.0.0.1:0";
  EXPECT_THROW(check(job), Error);
}

TEST(ReduceJob, StandsInForAWorker) {
  WorkerJob worker;
  worker.server = "unix:/run/s";
  worker.worker = 3;
  worker.reduce_here = 8;
  const ReduceJob job = reduce_job_of(worker);
  EXPECT_EQ(job.server, "unix:/run/s");
  EXPECT_EQ(job.worker, 3U);
  EXPECT_EQ(job.workers_here, 8U);
  worker.steps_ahead = true;
  EXPECT_THROW((void)reduce_job_of(worker), Error);
}

TEST(ReduceJob, ItsWorkersBringTheirOwnOptimizer) {
  ReduceJob job;
  job.workers_here = 4;
  const Training training = training_here(job);
  EXPECT_EQ(training.workers, 4U);
  EXPECT_EQ(training.policy.text, "sync");
  EXPECT_EQ(training.optimizer.text, kScriptOptimizer);
}

}  // namespace
}  // namespace outpace::job
