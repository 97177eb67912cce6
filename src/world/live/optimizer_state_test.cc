// A run whose optimizers go on from the state that its script brings.

#include <future>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "live/server.h"
#include "outpace/worker.h"

namespace outpace {
namespace {

constexpr std::uint64_t kStateExamples = 16;

// One worker; an update is one gradient of all examples.
class OptimizerStateTest : public testing::Test {
 protected:
  OptimizerStateTest() {
    options_.listen = "unix:" + (folder_ / "s").string();
    options_.token = "open-sesame";
    options_.coordinator.workers = 1;
    options_.coordinator.batch = kStateExamples;
    options_.coordinator.limits.epochs = 2;
    options_.policy = Spec::parse("sync");
    options_.shard.optimizer = Spec::parse("sgd");
    options_.script = {.conflict = "", .epochs = false};
    server_.emplace(options_, live::ServerCallbacks{});
    run_ = std::async(std::launch::async, [this] { return server_->run(); });
  }

  // Tensor 0 has momentum, tensor 1 has none. "code: what was thrown"; empty: nothing was.
  [[nodiscard]] std::string train(std::vector<OptimizerState> state, bool groups = true) const {
    ScriptSettings settings{.state = [state = std::move(state)] { return state; }};
    if (groups) {
      settings.groups = {{.method = Method::kMomentum, .rate = 0.5, .momentum = 0.5},
                         {.method = Method::kSgd, .rate = 0.25}};
    }
    try {
      Worker worker({.server = options_.listen, .token = options_.token});
      worker.join(
          {{.name = "a", .shape = {1}, .group = 0},
           {.name = "b", .shape = {1}, .group = groups ? 1U : 0U}},
          [] {
            return std::vector<float>{0, 0};
          },
          kStateExamples,
          settings);
      while (worker.next()) {
        worker.push({1, 1}, 1.0);
      }
    } catch (const WorkerError& error) {
      return std::to_string(error.exit_code()) + ": " + error.what();
    }
    return "";
  }
  [[nodiscard]] live::RunResult result() { return run_.get(); }

 private:
  const TemporaryDirectory folder_;
  live::ServerOptions options_;
  std::optional<live::Server> server_;
  std::future<live::RunResult> run_;  // Last: it uses the rest.
};

TEST_F(OptimizerStateTest, TheServersOptimizerGoesOnFromIt) {
  EXPECT_EQ(train({{.tensor = 0, .part = "velocity", .updates = 5, .numbers = {4}}}), "");
  // v = 0.5 * 4 + 1, then 0.5 * 3 + 1; w = -1.5, -2.75.
  EXPECT_EQ(result().weights, (std::vector<float>{-2.75F, -0.5F}));
}

TEST_F(OptimizerStateTest, WhatDoesNotFitIsRefusedByName) {
  EXPECT_EQ(train({{.tensor = 2, .part = "velocity", .numbers = {1}}}),
            "2: join: a state is of tensor 2, there are 2");
  EXPECT_EQ(train({{.tensor = 0, .part = "velocity", .numbers = {1, 2}}}),
            "2: join: 'velocity' of tensor 0 has 2 numbers, the tensor 1");
  EXPECT_EQ(train({}, false),
            "2: join: a state of optimizers takes groups, which say the optimizers");
  EXPECT_EQ(train({{.tensor = 1, .part = "velocity", .numbers = {1}}}),
            "4: the optimizer's state of tensor 'b': its optimizer has no 'velocity'");
  const OptimizerState twice{.tensor = 0, .part = "velocity", .numbers = {1}};
  EXPECT_EQ(train({twice, twice}), "1: optimizer_state: a part of tensor 'a' came twice");
  EXPECT_EQ(train({}), "");
  EXPECT_EQ(result().code, ExitCode::kDone);
}

}  // namespace
}  // namespace outpace
