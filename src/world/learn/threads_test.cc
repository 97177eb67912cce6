#include "learn/threads.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace outpace::learn {
namespace {

TEST(Threads, AreAsManyAsWereAskedFor) {
  use_threads(2);
  EXPECT_EQ(at::get_num_threads(), 2);
  use_threads(1);
  EXPECT_EQ(at::get_num_threads(), 1);
}

}  // namespace
}  // namespace outpace::learn
