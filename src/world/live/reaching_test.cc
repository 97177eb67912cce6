#include "live/reaching.h"

#include <gtest/gtest.h>

namespace outpace::live {
namespace {

using namespace std::chrono_literals;

TEST(Reaching, SaysWhyAfterASecondAndThenEveryTenSeconds) {
  const auto begun = Reaching::Clock::now();
  Reaching reaching("worker 3", 1h);
  EXPECT_FALSE(reaching.failed("Connection refused", begun));
  const auto first = reaching.failed("h:1: Connection refused", begun + 2s);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->find("outpace: worker 3 has not reached the server: h:1: Connection refused; it "
                        "tries for 359"),
            0U)
      << *first;
  EXPECT_FALSE(reaching.failed("Connection refused", begun + 11s));
  const auto second = reaching.failed("no answer", begun + 12s);
  ASSERT_TRUE(second);
  EXPECT_NE(second->find("no answer"), std::string::npos) << *second;
}

}  // namespace
}  // namespace outpace::live
