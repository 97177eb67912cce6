#include "job/program_pages.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

TEST(ProgramPages, TellTheFirstSentenceOfAnOption) {
  EXPECT_EQ(in_short("Learning rate", 60), "Learning rate");
  EXPECT_EQ(in_short("Examples in a mini-batch; 0: all. Or so", 60), "Examples in a mini-batch");
  EXPECT_EQ(in_short("One two three four five", 14), "One two...");
  EXPECT_EQ(in_short("Overlongwordofnospaces", 10), "Overlon...");
}

}  // namespace
}  // namespace outpace::job
