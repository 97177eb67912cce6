#include "admission/earlier_run.h"

#include <gtest/gtest.h>

namespace outpace::admission {
namespace {

protocol::Hello worker_at(std::uint64_t job, std::uint64_t version) {
  return {.worker = WorkerId{1},
          .host = "here:7",
          .dataset_examples = 1,
          .manifest = {},
          .seen_job = job,
          .seen_version = Version{version}};
}

void expect_nothing(const EarlierRun::Found& found) {
  EXPECT_EQ(found.lost, "");
  EXPECT_EQ(found.would_begin_anew, "");
}

TEST(EarlierRun, AWorkerThatHasSeenNothingIsNoNews) {
  EarlierRun earlier({.job = 5});
  expect_nothing(earlier.look_back(worker_at(0, 0), std::nullopt));
  expect_nothing(earlier.look_back(worker_at(4, 0), std::nullopt));
}

TEST(EarlierRun, ARunThatWouldBeginAnewDoesNotBegin) {
  EarlierRun earlier({.job = 5});
  EXPECT_EQ(earlier.look_back(worker_at(4, 30), std::nullopt).would_begin_anew,
            "worker 1 at here:7 had reached update 30 of a run that this server would begin anew; "
            "go on with it by --resume RUN, or end its workers first");
  EXPECT_NE(earlier.look_back(worker_at(4, 30), Version{0}).would_begin_anew, "");
  expect_nothing(earlier.look_back(worker_at(4, 30), Version{1}));  // It changes jobs.
}

TEST(EarlierRun, ARunWithoutACheckpointBeginsAgainAndSaysWhatIsLost) {
  EarlierRun earlier({.job = 5, .begins_again = true});
  const EarlierRun::Found found = earlier.look_back(worker_at(4, 30), std::nullopt);
  EXPECT_EQ(found.lost,
            "worker 1 at here:7 had reached update 30, which is lost: the server had died before "
            "its first checkpoint");
  EXPECT_EQ(found.would_begin_anew, "");
}

TEST(EarlierRun, ARunThatGoesOnSaysWhatCameAfterTheCheckpoint) {
  EarlierRun earlier({.job = 5});
  earlier.resume(Version{28});
  EXPECT_TRUE(earlier.resumed());
  expect_nothing(earlier.look_back(worker_at(5, 28), std::nullopt));
  EXPECT_EQ(earlier.look_back(worker_at(5, 29), std::nullopt).lost,
            "worker 1 at here:7 had reached update 29: 1 update after the checkpoint are lost, and "
            "computed again");
  expect_nothing(earlier.look_back(worker_at(5, 29), std::nullopt));  // It was said.
  EXPECT_NE(earlier.look_back(worker_at(5, 30), std::nullopt).lost, "");
  expect_nothing(earlier.look_back(worker_at(5, 40), Version{28}));  // It has begun.
}

}  // namespace
}  // namespace outpace::admission
