#include "record/runtime_table.h"

#include <utility>

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
                "0.020000,0.080000\n"
                "0.021000,1.500000\n"
                "# 2 rows, as many as worker 1 measured, which has the fewest\n");
}

TEST(Runtimes, HaveNoColumnForAWorkerThatMeasuredNothing) {
  EXPECT_EQ(written({{0.02F}, {}, {0.03F}, {0.04F}, {}}),
            std::string(kFirstLine) +
                "# workers 1,4 measured nothing and have no column; the columns are workers 0,2-3\n"
                "0.020000,0.030000,0.040000\n"
                "# 1 row, as many as worker 0 measured, which has the fewest\n");
}

TEST(Runtimes, AreOnlyCommentsIfNobodyMeasured) {
  EXPECT_EQ(written({{}}),
            std::string(kFirstLine) +
                "# worker 0 measured nothing and has no column; the columns are none\n");
  EXPECT_EQ(written({}), kFirstLine);
}

server::WorkerStatistics live(std::vector<float> runtimes) {
  server::WorkerStatistics worker;
  worker.live = true;
  worker.runtimes = std::move(runtimes);
  return worker;
}

// Whatever is in the file, a server that is killed leaves behind.
TEST(Runtimes, AreInTheFileAsSoonAsTheirRowIsComplete) {
  const TemporaryDirectory directory;
  const auto path = directory / "runtimes.csv";
  RuntimeTable table(path);
  EXPECT_EQ(contents(path), "") << "nothing is flushed before a row";
  std::vector<server::WorkerStatistics> workers{live({0.02F}), live({})};
  table.append(workers);
  EXPECT_EQ(contents(path), kFirstLine) << "the second may still measure";
  workers[1].runtimes = {0.08F};
  table.append(workers);
  EXPECT_EQ(contents(path), std::string(kFirstLine) + "0.020000,0.080000\n");
  workers[0].runtimes = {0.02F, 0.021F, 0.022F};
  table.append(workers);
  EXPECT_EQ(contents(path), std::string(kFirstLine) + "0.020000,0.080000\n");
  workers[1].runtimes = {0.08F, 1.5F};
  table.append(workers);
  const std::string both = std::string(kFirstLine) + "0.020000,0.080000\n0.021000,1.500000\n";
  EXPECT_EQ(contents(path), both);
  table.close(workers);
  EXPECT_EQ(contents(path),
            both + "# 2 rows, as many as worker 1 measured, which has the fewest\n");
}

TEST(Runtimes, HaveNoColumnForAWorkerThatMeasuresAfterTheFirstRow) {
  const TemporaryDirectory directory;
  const auto path = directory / "runtimes.csv";
  RuntimeTable table(path);
  std::vector<server::WorkerStatistics> workers{live({0.02F}), {}, live({0.03F})};
  table.append(workers);
  workers[1] = live({0.5F, 0.5F});
  workers.push_back(live({0.5F}));
  table.close(workers);
  EXPECT_EQ(contents(path),
            std::string(kFirstLine) +
                "# worker 1 measured nothing and has no column; the columns are workers 0,2\n"
                "0.020000,0.030000\n"
                "# 1 row, as many as worker 0 measured, which has the fewest\n"
                "# workers 1,3 measured nothing before the first row and have no column\n");
}

TEST(Runtimes, SayInOneLineThatTheDiskIsFull) {
  EXPECT_EQ(error_of([] { write_runtimes("/dev/full", {}); }),
            "1: cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace outpace::record
