#include "throughput/measured_table.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::throughput {
namespace {

std::string refusal_of_table(const std::string& text) {
  try {
    (void)read_table(text, "t.csv");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

constexpr const char* kHead = "workers,nodes,batch_per_worker,iteration_seconds\n";

TEST(Table, ReadsItsColumnsInAnyOrder) {
  const auto rows = read_table(
      "# measured in June\nnodes, batch_per_worker ,workers,sync_seconds,note,policy,topology,"
      "iteration_seconds\r\n\n2,32.5,8,0.01,x,\"sync\",ring,0.175\r\n1,1,1,,,,,\n",
      "t.csv");
  ASSERT_EQ(rows.size(), 2U);
  const Row first{.configuration = {.workers = 8,
                                    .nodes = 2,
                                    .batch_per_worker = 32.5,
                                    .policy = "sync",
                                    .topology = "ring"},
                  .iteration_seconds = 0.175,
                  .sync_seconds = 0.01};
  EXPECT_EQ(rows[0], first);
  EXPECT_EQ(rows[1], Row{});
}

TEST(Table, NeedsNoMeasurementWhereOneIsPredicted) {
  const auto rows = read_table("workers,nodes,batch_per_worker\n4,2,8\n", "t.csv");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_FALSE(rows[0].iteration_seconds);
}

TEST(Table, MayBeginWithAByteOrderMark) {
  EXPECT_EQ(read_table("\xEF\xBB\xBFworkers,nodes,batch_per_worker\n4,2,8\n", "t.csv").size(), 1U);
}

TEST(Table, RefusesWhatIsWrongAndSaysWhere) {
  const std::string head = kHead;
  const std::pair<std::string, std::string> kCases[] = {
      {"", "no rows"},
      {head, "no rows"},
      {"workers,nodes,iteration_seconds\n1,1,1\n", "no column 'batch_per_worker'"},
      {"workers,nodes,batch_per_worker,workers\n1,1,1,1\n", "two columns are called 'workers'"},
      {"workers,nodes,batch_per_worker,topolgy\n1,1,1,ring\n", "did you mean 'topology'?"},
      {head + "0,1,32,1\n", "t.csv:2: workers is '0'"},
      {head + "1,1,32,1\n\n# so far\n-3,1,32,1\n", "t.csv:5: workers is '-3'"},
      {head + "2.5,1,32,1\n", "workers is '2.5'"},
      {head + "99999999999,1,32,1\n", "a whole number from 1 to 1000000"},
      {head + "1,2,32,1\n", "t.csv:2: 1 workers on 2 nodes"},
      {head + "1,1,0,1\n", "batch_per_worker is '0'"},
      {head + "1,1,,1\n", "batch_per_worker is ''"},
      {head + "1,1,32,0\n", "iteration_seconds is '0'"},
      {head + "1,1,32,-1\n", "iteration_seconds is '-1'"},
      {head + "1,1,32,nan\n", "iteration_seconds is 'nan'"},
      {head + "1,1,32,inf\n", "iteration_seconds is 'inf'"},
      {head + "1,1,32,1e300\n", "iteration_seconds is '1e300'"},
      {head + "1,1,32\n", "t.csv:2: 3 cells, but the first line names 4 columns"},
      {"workers,nodes,batch_per_worker,iteration_seconds,sync_seconds\n1,1,32,1,2\n",
       "sync_seconds is 2, more than the iteration's 1"},
  };
  for (const auto& [text, says] : kCases) {
    const std::string said = refusal_of_table(text);
    EXPECT_NE(said.find(says), std::string::npos) << text << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST(Table, ShowsNoControlLettersOfAWrongCell) {
  EXPECT_NE(refusal_of_table(std::string(kHead) + "\x1b[31m,1,32,1\n").find("'?[31m'"),
            std::string::npos);
}

TEST(Table, HasALargestSize) {
  std::string text = kHead;
  for (std::size_t i = 0; i < kTableRowsMax; ++i) {
    text += "1,1,32,1\n";
  }
  EXPECT_EQ(read_table(text, "t.csv").size(), kTableRowsMax);
  EXPECT_NE(refusal_of_table(text + "1,1,32,1\n").find("more than 10000 rows"), std::string::npos);
}

}  // namespace
}  // namespace outpace::throughput
