#include "record/runtime_table.h"

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

std::string written(const std::vector<std::vector<float>>& runtimes) {
  std::vector<server::WorkerStatistics> workers(runtimes.size());
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    workers[worker].runtimes = runtimes[worker];
  }
  const TemporaryDirectory directory;
  write_runtimes(directory / "runtimes.csv", workers);
  return contents(directory / "runtimes.csv");
}

constexpr const char* kFirstLine =
    "# one row an iteration, one column a worker, seconds from weights to gradient\n";

TEST(Runtimes, EndWithTheWorkerThatMeasuredTheFewest) {
  EXPECT_EQ(written({{0.02F, 0.021F, 0.022F}, {0.08F, 1.5F}}),
            std::string(kFirstLine) +
                "# 2 rows, as many as worker 1 measured, which has the fewest\n"
                "0.020000,0.080000\n"
                "0.021000,1.500000\n");
}

TEST(Runtimes, HaveNoColumnForAWorkerThatMeasuredNothing) {
  EXPECT_EQ(written({{0.02F}, {}, {0.03F}, {0.04F}, {}}),
            std::string(kFirstLine) +
                "# workers 1,4 measured nothing and have no column; the columns are workers 0,2-3\n"
                "# 1 row, as many as worker 0 measured, which has the fewest\n"
                "0.020000,0.030000,0.040000\n");
}

TEST(Runtimes, AreOnlyCommentsIfNobodyMeasured) {
  EXPECT_EQ(written({{}}),
            std::string(kFirstLine) +
                "# worker 0 measured nothing and has no column; the columns are none\n");
  EXPECT_EQ(written({}), kFirstLine);
}

TEST(Runtimes, SayInOneLineThatTheDiskIsFull) {
  EXPECT_EQ(error_of([] { write_runtimes("/dev/full", {}); }),
            "1: cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace outpace::record
