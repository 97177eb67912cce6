#include "run/failures.h"

#include <gtest/gtest.h>

namespace outpace::run {
namespace {

using Lines = std::vector<std::string>;

live::ChildEnd end_of(std::uint32_t worker, const Lines& said, int code = 1) {
  return {.name = "worker " + std::to_string(worker),
          .is_worker = true,
          .code = code,
          .restarted = false,
          .last_line = said.empty() ? "" : said.back(),
          .last_lines = said};
}

const Lines& traceback() {
  static const Lines kLines{"Traceback (most recent call last):",
                            "  File \"train.py\", line 3, in <module>",
                            "ValueError: process 41 has no data"};
  return kLines;
}

TEST(Failures, ATracebackIsShownOnceAndTheOthersAreFolded) {
  Failures failures;
  EXPECT_EQ(failures.failed(end_of(3, traceback()), "", "run/logs/worker-3.log"),
            (Lines{"worker 3 exited with 1; the last lines of run/logs/worker-3.log:",
                   "  Traceback (most recent call last):",
                   "    File \"train.py\", line 3, in <module>",
                   "  ValueError: process 41 has no data"}));
  EXPECT_TRUE(failures.folded().empty());
  Lines other = traceback();
  other.back() = "ValueError: process 4242 has no data";
  for (const std::uint32_t worker : {0U, 1U, 5U}) {
    EXPECT_TRUE(failures.failed(end_of(worker, other), "", "log").empty());
  }
  EXPECT_EQ(failures.folded(), Lines{"workers 0, 1 and 5 failed in the same way as worker 3"});
}

TEST(Failures, AnotherWayToFailIsShownToo) {
  Failures failures;
  (void)failures.failed(end_of(3, traceback()), "", "log");
  EXPECT_EQ(failures.failed(end_of(1, {"no memory"}), "", "log"),
            Lines{"worker 1 exited with 1: no memory"});
  EXPECT_EQ(failures.failed(end_of(2, {}, 128 + 9), "", "log"),
            Lines{"worker 2 was ended by signal 9"});
  EXPECT_TRUE(failures.folded().empty());
}

TEST(Failures, AWorkerThatIsStartedAgainHasALineEachTime) {
  Failures failures;
  const std::string again = "; starting it again in 0.5 s";
  EXPECT_EQ(failures.failed(end_of(3, traceback()), again, "log").front(),
            "worker 3 exited with 1; starting it again in 0.5 s; the last lines of log:");
  EXPECT_EQ(failures.failed(end_of(3, traceback()), again, "log"),
            Lines{"worker 3 exited with 1: ValueError: process 41 has no data; starting it again "
                  "in 0.5 s"});
  EXPECT_TRUE(failures.folded().empty());
}

TEST(Failures, RanksAreFoldedIntoRanges) {
  EXPECT_EQ(workers_in_words({"worker 7"}), "worker 7");
  EXPECT_EQ(workers_in_words({"worker 7", "worker 1", "worker 2", "worker 3"}),
            "workers 1 to 3 and 7");
}

}  // namespace
}  // namespace outpace::run
