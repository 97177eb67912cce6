#include "job/doctor_job.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

TEST(DoctorJob, LooksAtTheMachineAloneUnlessItIsTold) {
  DoctorJob job;
  OptionList options;
  declare(options, job);
  EXPECT_EQ(job.out, "runs");
  options.find("server")->set({"10.0.0.1:4000"}, "--server");
  EXPECT_EQ(job.server, "10.0.0.1:4000");
  EXPECT_TRUE(job.code_file.empty());
}

}  // namespace
}  // namespace outpace::job
