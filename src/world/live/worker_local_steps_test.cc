// A worker of include/outpace/worker.h that steps by itself between two pushes.

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "live/server.h"
#include "outpace/worker.h"

namespace outpace {
namespace {

constexpr const char* kPassword = "open-sesame";
constexpr std::uint64_t kTwenty = 20;
const std::vector<Parameter> kOneWeight{{.name = "w", .shape = {1}}};

class LocalStepsTest : public testing::Test {
 protected:
  LocalStepsTest() {
    live::ServerOptions options{
        .token = kPassword, .coordinator = {}, .policy = Spec::parse("sync"), .shard = {}};
    options.coordinator.batch = 4;
    options.coordinator.local_steps = server::LocalSteps{.most = 3, .optimizer = "sgd"};
    options.coordinator.limits.epochs = 1;
    options.coordinator.rate = 1.0;
    options.shard.optimizer = Spec::parse("sgd");
    server_.emplace(std::move(options), live::ServerCallbacks{});
    run_ = std::async(std::launch::async, [this] { return server_->run(); });
  }

  void join(std::uint32_t steps) {
    worker_.emplace(WorkerOptions{.server = server_->address(), .token = kPassword});
    worker_->join(
        kOneWeight, [] { return std::vector<float>{0.0F}; }, kTwenty, {.local_steps = steps});
  }
  std::string error_of(const std::function<void()>& function) {
    try {
      function();
    } catch (const WorkerError& error) {
      return error.what();
    }
    return "no error";
  }

  std::optional<live::Server> server_;
  std::future<live::RunResult> run_;
  std::optional<Worker> worker_;
};

TEST_F(LocalStepsTest, APhaseIsOnePushOverTheStepsThatWereMade) {
  join(3);
  std::optional<MinibatchView> phase = worker_->next_view();
  ASSERT_TRUE(phase);
  ASSERT_EQ(phase->steps.size(), 3U);
  for (const LocalStep& step : phase->steps) {
    EXPECT_EQ(step.examples, 4U);
    EXPECT_EQ(step.epoch, 0U);
    worker_->stepped(step.examples);
  }
  EXPECT_EQ(error_of([&] { worker_->stepped(1); }),
            "stepped: 1 examples, of 0 that are left of the lease");
  // What it pushes is taken away from the weights.
  EXPECT_TRUE(worker_->push(std::vector<float>{-0.5F}, std::nullopt).accepted());
  phase = worker_->next_view();
  ASSERT_TRUE(phase);
  EXPECT_EQ(phase->weights.front(), 0.5F);
  ASSERT_EQ(phase->steps.size(), 2U) << "the epoch's rest";
  worker_->stepped(4);
  EXPECT_TRUE(worker_->push(std::vector<float>{-0.25F}, 2.0).accepted());
  phase = worker_->next_view();
  ASSERT_TRUE(phase) << "what the part has left comes again";
  EXPECT_EQ(phase->examples.size(), 4U);
  worker_->stepped(4);
  EXPECT_TRUE(worker_->push(std::vector<float>{0.0F}, 3.0).accepted());
  EXPECT_FALSE(worker_->next_view());
  const live::RunResult result = run_.get();
  EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
  EXPECT_EQ(result.statistics.examples_applied, kTwenty);
  EXPECT_EQ(result.statistics.examples_used_per_epoch_max, 1U);
  EXPECT_EQ(result.statistics.workers[0].partial, 1U);
  EXPECT_EQ(result.weights, std::vector<float>{0.75F});
  ASSERT_TRUE(result.statistics.training_loss) << "two of three pushes tell it";
  EXPECT_DOUBLE_EQ(*result.statistics.training_loss, 2.0 + 0.02);
}

TEST_F(LocalStepsTest, WhatDoesNotBelongIsSaid) {
  EXPECT_EQ(error_of([&] { join(2); }),
            "this worker makes 2 local steps between two pushes, and this job has "
            "--local-steps 3: they must be the same");
  EXPECT_EQ(error_of([&] { join(0); }),
            "this job has --local-steps 3, and this worker pushes each mini-batch: let it "
            "make them (in Python job.wrap(..., local_steps=3)), or start the server without "
            "--local-steps");
  join(3);
  ASSERT_TRUE(worker_->next());
  EXPECT_EQ(error_of([&] { worker_->push(std::vector<float>{0.0F}, 0.0); }),
            "push: no local step was made; call stepped() first");
  worker_->stepped(4);
  EXPECT_EQ(error_of([&] { worker_->push(std::vector<float>{0.0F}, 0.0, 3); }),
            "push: a part of 3 examples, and the steps had 4");
  server_->stop(ExitCode::kDone, "enough");
  EXPECT_FALSE(worker_->next());
}

TEST(LocalStepsScript, BringsNoOptimizerForTheServer) {
  Worker worker({.server = "unix:/nowhere", .token = kPassword});
  try {
    worker.join(kOneWeight,
                [] { return std::vector<float>{0.0F}; },
                kTwenty,
                {.groups = {{.method = Method::kSgd}}, .local_steps = 2});
    ADD_FAILURE() << "accepted";
  } catch (const WorkerError& error) {
    EXPECT_STREQ(error.what(),
                 "join: with local steps the server has an optimizer of its own; groups may have "
                 "kByServer, kAverage and kNewest alone");
  }
}

}  // namespace
}  // namespace outpace
