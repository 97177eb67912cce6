#include "record/worker_table.h"

#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "record/deaths.h"
#include "record/summary_example_test.h"

namespace outpace::record {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(WorkerTable, ReadsLikeThis) {
  EXPECT_EQ(worker_table(example_summary()), R"(
backup:cutoff=6 on 8 workers: 1,000 updates in 12.5s
  accuracy 84.1%, test loss 0.438; target 80% reached after 6.5s
  15,360 examples/s, 192,000 in all (what was dropped is not counted)
  staleness 0.03 on average, 2 at most; 150 of 6,150 gradients dropped, 3 cancelled
  ended: 1000 updates

worker  iterations  accepted  dropped  cancelled  median     p99  examples
     0         900       900        0          0  20.0ms  20.0ms     15.0%
     1         900       900        0          0  20.0ms  20.0ms     15.0%
     2         900       900        0          0  20.0ms  20.0ms     15.0%
     3         900       900        0          0  20.0ms  20.0ms     15.0%
     4         900       900        0          0  20.0ms  20.0ms     15.0%
     5         900       900        0          0  20.0ms  20.0ms     15.0%
     6         250       100      150          0  80.0ms  80.0ms      1.7%  4.0x slower
     7         500       500        0          3  40.0ms  40.0ms      8.3%  2.0x slower
)" + 1);  // Without the first newline.
}

TEST(WorkerTable, NamesHostsOnlyIfTheyDiffer) {
  Summary summary = example_summary();
  EXPECT_EQ(worker_table(summary).find("host"), std::string::npos);
  for (std::size_t worker = 0; worker < 8; ++worker) {
    summary.statistics.workers[worker].host = "vm:1715" + std::to_string(worker);
  }
  EXPECT_EQ(worker_table(summary).find("vm"), std::string::npos) << "processes of one machine";
  summary.statistics.workers[6].host = "rack7-machine12.example.org:17151";
  const std::string table = worker_table(summary);
  EXPECT_NE(table.find("     6  rack7-machine12.example.org         250"), std::string::npos)
      << table;
  EXPECT_NE(table.find("4.0x slower\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("17151"), std::string::npos) << "it looks like a port";
}

TEST(WorkerTable, SaysWhoDiedAndNotHowSlowThatOneWas) {
  Summary summary = example_summary();
  Deaths deaths;
  const auto tell = [&deaths](const policy::Event& event, std::vector<policy::Action> actions) {
    deaths.follow(event, actions);
  };
  deaths.begin_at(Version{1229});
  for (const std::uint32_t worker : {5U, 6U, 7U}) {
    tell(policy::WorkerJoined{WorkerId{worker}}, {policy::Commit{}});
  }
  tell(policy::WorkerLeft{WorkerId{5}, policy::Departure::kDead}, {});
  tell(policy::WorkerLeft{WorkerId{6}, policy::Departure::kDead}, {policy::Commit{}});
  tell(policy::WorkerLeft{WorkerId{7}, policy::Departure::kLeft}, {});
  tell(policy::WorkerJoined{WorkerId{5}}, {});
  summary.died = deaths.all();
  const std::string table = worker_table(summary);
  EXPECT_NE(table.find("1.7%  died at update 1,232\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("4.0x slower"), std::string::npos) << table;
  EXPECT_NE(table.find("2.0x slower\n"), std::string::npos) << table;
}

TEST(WorkerTable, NamesTheLastAccuracyThatWasMeasured) {
  Summary summary = example_summary();
  summary.final_accuracy.reset();
  summary.final_loss.reset();
  summary.evaluations = {{.version = Version{1200}, .accuracy = 0.971}};
  EXPECT_NE(worker_table(summary).find("accuracy 97.1% at update 1,200, which was measured last"),
            std::string::npos)
      << worker_table(summary);
}

TEST(WorkerTable, IsNeverWiderThanAHundredColumns) {
  Summary summary = example_summary();
  for (server::WorkerStatistics& worker : summary.statistics.workers) {
    worker.host += std::to_string(worker.accepted);
    worker.accepted *= 1'000'000;
    worker.dropped = worker.cancelled = worker.partial = worker.refused = 123'456'789;
    worker.incarnations = 12;
  }
  summary.why_ended = "1000 updates";
  const std::string table = worker_table(summary);
  for (const std::string& line : lines_of(table)) {
    EXPECT_LE(line.size(), 100U) << line;
  }
  // And no word is cut off.
  EXPECT_NE(table.find("joined 12 times"), std::string::npos) << table;
  EXPECT_NE(table.find("123,456,789 refused"), std::string::npos) << table;
  EXPECT_NE(table.find("123,456,789 partial"), std::string::npos) << table;
}

TEST(WorkerTable, ListsTheSlowestOfVeryMany) {
  Summary summary = example_summary();
  summary.statistics.workers.assign(1000, example_worker(0.02F, 10));
  summary.statistics.workers[777] = example_worker(0.1F, 2);
  const std::string table = worker_table(summary);
  EXPECT_NE(table.find("5.0x slower"), std::string::npos);
  EXPECT_NE(table.find("the slowest 32 of 1,000 workers; --json lists all"), std::string::npos);
  EXPECT_LT(lines_of(table).size(), 50U);
}

TEST(WorkerTable, SaysThatMiniBatchesAreBalanced) {
  Summary summary;
  summary.policy = "sync";
  summary.workers = 2;
  summary.balance_most = 4.0;
  EXPECT_EQ(lines_of(headline(summary)).front(), "sync, balanced, on 2 workers: 0 updates in 0.0s");
  summary.balance_most.reset();
  summary.local_steps = 50;
  EXPECT_EQ(lines_of(headline(summary)).front(),
            "sync on 2 workers, 50 local steps: 0 updates in 0.0s");
}

TEST(WorkerTable, TellsARunInWhichNothingHappened) {
  Summary summary;
  summary.policy = "sync";
  summary.workers = 2;
  summary.why_ended = "too few workers";
  summary.statistics.workers.resize(2);
  EXPECT_EQ(worker_table(summary), R"(
sync on 2 workers: 0 updates in 0.0s
  accuracy not measured
  0 examples/s, 0 in all (what was dropped is not counted)
  staleness 0.00 on average, 0 at most; 0 of 0 gradients dropped
  ended: too few workers

worker  iterations  accepted  dropped  cancelled  median  p99  examples
     0           0         0        0          0       -    -         -  never joined
     1           0         0        0          0       -    -         -  never joined
)" + 1);
}

}  // namespace
}  // namespace outpace::record
