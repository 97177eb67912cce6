#include "run/open_files.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::run {
namespace {

TEST(OpenFiles, TheLimitIsRaisedAsFarAsTheWorkersNeed) {
  EXPECT_EQ(limit_for(8, 4096, 4096), std::nullopt);
  EXPECT_EQ(limit_for(600, 1024, 1U << 20U), 20 * 600 + 64 + 1024);
  EXPECT_EQ(limit_for(600, 1024, 2000), 2000) << "the strangers share what is left";
  EXPECT_EQ(limit_for(600, 2000, 2000), std::nullopt);
}

TEST(OpenFiles, TooManyWorkersAreRefused) {
  EXPECT_EQ(refusal_of([] { (void)limit_for(600, 1024, 1024); }),
            "--workers 600 takes 1264 open files, and the system allows this process 1024 "
            "(ulimit -Hn); raise that limit, or take fewer workers");
}

}  // namespace
}  // namespace outpace::run
