#include "record/write_queue.h"

#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "record/output_file.h"

namespace outpace::record {
namespace {

TEST(WriteQueue, CarriesOutTasksInOrderAndWaitsForThem) {
  std::vector<int> done;
  WriteQueue queue;
  for (int task = 0; task < 100; ++task) {
    EXPECT_TRUE(queue.add(1, [&done, task] { done.push_back(task); }));
  }
  queue.wait();
  ASSERT_EQ(done.size(), 100U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(queue.busy(), std::nullopt);
}

// A task that hangs until it is told to end.
class Hung {
 public:
  explicit Hung(WriteQueue& queue) {
    EXPECT_TRUE(queue.add(1, [this] {
      begun_.set_value();
      end_.get_future().wait();
    }));
    begun_.get_future().wait();
  }
  void end() { end_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> end_;
};

TEST(WriteQueue, RefusesWhatItCannotHoldWhileATaskHangs) {
  WriteQueue queue(/*bytes_max=*/10);
  Hung hung(queue);
  EXPECT_TRUE(queue.busy());
  bool done = false;
  EXPECT_TRUE(queue.add(9, [&done] { done = true; }));
  EXPECT_FALSE(queue.add(1, [] { FAIL(); }));
  hung.end();
  queue.wait();
  EXPECT_TRUE(done);
  EXPECT_TRUE(queue.add(1000, [] {})) << "an empty one takes a task of any size";
}

TEST(WriteQueue, AFileThatItDoesNotTakeAnyMoreHasAMarkedGap) {
  const TemporaryDirectory directory;
  std::vector<std::string> told;
  WriteQueue queue(/*bytes_max=*/30);
  OutputFile file(directory / "lines",
                  {.told = [&told](const std::string& line) { told.push_back(line); },
                   .mark = "gap",
                   .queue = &queue});
  const auto append = [&file](std::string_view text) {
    file.buffer().append(text.data(), text.data() + text.size());
    file.end_line();
    file.flush();
  };
  Hung hung(queue);
  append("a first line");
  append("a second line, too much");
  append("a third line, too much");
  EXPECT_EQ(told,
            std::vector<std::string>{"cannot write " + (directory / "lines").string() +
                                     ": the disk takes nothing; the run goes on, and its "
                                     "record has a gap"});
  hung.end();
  queue.wait();
  append("a fourth line");
  file.close();
  EXPECT_EQ(contents(directory / "lines"), "a first line\ngap\na fourth line\n");
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told.back(), (directory / "lines").string() + " is written again; 2 lines are missing");
}

}  // namespace
}  // namespace outpace::record
