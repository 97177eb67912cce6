#include "job/whatif_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

TEST(WhatifJob, TakesEachQuestionSeveralTimes) {
  Declared<WhatifJob> whatif;
  whatif.give("run", "runs/x")
      .give("without", std::vector<std::string>{"3", "0"})
      .give("policy", std::vector<std::string>{"async", "dynamic:min=2,max=8"})
      .give("workers", "16");
  EXPECT_EQ(whatif.job.without, (std::vector<std::uint32_t>{3, 0}));
  EXPECT_EQ(whatif.job.policies, (std::vector<std::string>{"async", "dynamic:min=2,max=8"}));
  EXPECT_EQ(whatif.job.workers, std::vector<std::uint32_t>{16});
  whatif.options.check_required("whatif");
}

TEST(WhatifJob, TakesARun) {
  const Declared<WhatifJob> whatif;
  EXPECT_EQ(refusal_of([&] { whatif.options.check_required("whatif"); }),
            "whatif: run is missing; it is Directory of a run of train, server or simulate");
}

TEST(WhatifJob, RefusesAWorkerThatIsNoNumber) {
  Declared<WhatifJob> whatif;
  for (const char* wrong : {"-1", "last", "1.5", "4294967296"}) {
    EXPECT_EQ(refusal_of([&] { whatif.give("without", wrong); }),
              "--without is '" + std::string(wrong) + "'; it takes a whole number from 0 on");
  }
}

}  // namespace
}  // namespace outpace::job
