#include "throughput/placing.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::throughput {
namespace {

// Up to 8 workers were measured, 2 on each node, with batches of 16.
CalibratedProfile small_calibration() {
  return {.groups = {{.policy = "sync",
                      .rows = 10,
                      .cost = {.compute_fixed = 0.1, .across = {.fixed = 0.2}},
                      .spread = 0.1,
                      .seen = {.workers_min = 1,
                               .workers_max = 8,
                               .across_workers_max = 8,
                               .workers_per_node_max = 2,
                               .batch_min = 16,
                               .batch_max = 16}}}};
}

TEST(Placing, TakesWhatWasMeasuredForWhatIsNotSaid) {
  const std::vector<Row> rows =
      place_workers(small_calibration(), {.counts = {1, 3, 8}, .placing = {}, .policy = "sync"});
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].configuration,
            (Configuration{.workers = 1, .nodes = 1, .batch_per_worker = 16, .policy = "sync"}));
  EXPECT_EQ(rows[1].configuration.nodes, 2);
  EXPECT_EQ(rows[2].configuration.nodes, 4);
}

TEST(Placing, TakesNodesWorkersOnANodeAndBatchAsTheyAreSaid) {
  const CalibratedProfile profile = small_calibration();
  const auto nodes = place_workers(profile, {.counts = {8, 16}, .placing = {.nodes = 8}});
  EXPECT_EQ(nodes[0].configuration.nodes, 8);
  EXPECT_EQ(nodes[1].configuration.nodes, 8);
  const auto each =
      place_workers(profile, {.counts = {9}, .placing = {.workers_per_node = 4, .batch = 32.0}});
  EXPECT_EQ(each[0].configuration.nodes, 3);
  EXPECT_EQ(each[0].configuration.batch_per_worker, 32.0);
}

TEST(Placing, RefusesMoreNodesThanWorkers) {
  EXPECT_EQ(refusal_of([] {
              (void)place_workers(small_calibration(), {.counts = {4}, .placing = {.nodes = 8}});
            }),
            "--nodes is 8 with 4 workers; it takes at most one for each worker");
}

TEST(Placing, TakesABatchWhereSeveralWereMeasured) {
  CalibratedProfile profile = small_calibration();
  profile.groups.front().seen.batch_max = 32;
  EXPECT_EQ(refusal_of([&] { (void)place_workers(profile, {.counts = {4}, .placing = {}}); }),
            "--workers takes --batch too: several batches were measured");
}

TEST(Placing, PredictsEachRow) {
  const CalibratedProfile profile = small_calibration();
  const auto rows = place_workers(profile, {.counts = {1, 8}, .placing = {}, .policy = "sync"});
  const auto predictions = predict_rows(profile, rows);
  ASSERT_EQ(predictions.size(), 2);
  EXPECT_EQ(predictions[0], predict(profile, rows[0].configuration));
  EXPECT_DOUBLE_EQ(*predictions[0].seconds, 0.1);
  EXPECT_DOUBLE_EQ(*predictions[1].seconds, 0.3);
}

}  // namespace
}  // namespace outpace::throughput
