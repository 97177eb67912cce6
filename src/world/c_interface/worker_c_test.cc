#include "outpace/worker_c.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "live/server.h"

namespace outpace {
namespace {

constexpr const char* kToken = "open-sesame";
constexpr std::uint64_t kExamples = 10;

struct Close {
  void operator()(outpace_worker* worker) const { outpace_worker_close(worker); }
};
using Handle = std::unique_ptr<outpace_worker, Close>;

constexpr std::array<std::uint64_t, 2> kShape{2, 1};
constexpr std::array<outpace_parameter, 2> kParameters{
    {{.name = "slope", .shape = kShape.data(), .dimensions = 2},
     {.name = "offset", .shape = nullptr, .dimensions = 0}}};

int fill(float* weights, std::size_t numbers, void* context) {
  std::fill_n(weights, numbers, *static_cast<float*>(context));
  return 0;
}

class WorkerC : public testing::Test {
 protected:
  WorkerC()
      : server_({.token = kToken,
                 .coordinator =
                     {.job = 7, .workers = 1, .batch = 4, .limits = {.epochs = 2}, .rate = 1},
                 .policy = Spec::parse("sync"),
                 .shard = {.optimizer = Spec::parse("sgd")}},
                {}),
        address_(server_.address()),
        options_{.server = address_.c_str(), .token = kToken, .deadline = 20} {}

  [[nodiscard]] Handle open() { return Handle(outpace_worker_open(&options_, &error_)); }
  [[nodiscard]] outpace_job job() {
    return {.parameters = kParameters.data(),
            .count = kParameters.size(),
            .examples = kExamples,
            .initial_weights = fill,
            .context = &first_weight_};
  }

  float first_weight_ = 1.0F;
  live::Server server_;
  std::string address_;
  outpace_worker_options options_;
  outpace_error error_{};
};

TEST_F(WorkerC, TrainsToTheEndOfTheRun) {
  auto running = std::async(std::launch::async, [this] { return server_.run(); });
  const Handle worker = open();
  ASSERT_NE(worker, nullptr) << error_.message;
  const outpace_job offered = job();
  ASSERT_EQ(outpace_worker_join(worker.get(), &offered, &error_), OUTPACE_OK) << error_.message;
  std::vector<std::uint64_t> used(kExamples, 0);
  outpace_minibatch minibatch;
  std::uint64_t updates = 0;
  while (true) {
    ASSERT_EQ(outpace_worker_next(worker.get(), &minibatch, &error_), OUTPACE_OK) << error_.message;
    if (minibatch.count == 0) {
      break;
    }
    EXPECT_EQ(minibatch.numbers, 3U);
    EXPECT_EQ(minibatch.version, updates++);
    EXPECT_EQ(minibatch.epoch,
              std::accumulate(used.begin(), used.end(), std::uint64_t{0}) / kExamples);
    EXPECT_EQ(minibatch.weights[0], 1.0F - static_cast<float>(minibatch.version));
    for (std::size_t i = 0; i < minibatch.count; ++i) {
      ++used.at(minibatch.examples[i]);
    }
    EXPECT_EQ(outpace_worker_cancelled(worker.get()), 0);
    float* const gradient = outpace_worker_gradient(worker.get(), &error_);
    ASSERT_NE(gradient, nullptr) << error_.message;
    std::fill_n(gradient, minibatch.numbers, 1.0F);
    outpace_verdict verdict{};
    ASSERT_EQ(outpace_worker_push(worker.get(), gradient, 0.5, 0, &verdict, &error_), OUTPACE_OK);
    EXPECT_EQ(verdict.outcome, OUTPACE_ACCEPTED) << verdict.why;
    EXPECT_STREQ(verdict.why, "");
  }
  EXPECT_EQ(used, std::vector<std::uint64_t>(kExamples, 2));
  EXPECT_EQ(running.get().code, ExitCode::kDone);
}

TEST_F(WorkerC, PushesInCallsThatWaitForALimitedTime) {
  auto running = std::async(std::launch::async, [this] { return server_.run(); });
  const Handle worker = open();
  const outpace_job offered = job();
  EXPECT_EQ(outpace_worker_slowed(worker.get()), 0);
  EXPECT_EQ(outpace_worker_start_push(worker.get(), 0.5, &error_), OUTPACE_USAGE);
  ASSERT_EQ(outpace_worker_join(worker.get(), &offered, &error_), OUTPACE_OK) << error_.message;
  outpace_minibatch minibatch;
  ASSERT_EQ(outpace_worker_next(worker.get(), &minibatch, &error_), OUTPACE_OK) << error_.message;
  outpace_verdict verdict{};
  EXPECT_EQ(outpace_worker_await(worker.get(), 0.0, &verdict, &minibatch, &error_), OUTPACE_USAGE);
  EXPECT_EQ(outpace_worker_start_push(worker.get(), 0.5, &error_), OUTPACE_USAGE);
  EXPECT_STREQ(error_.message, "start_push: write the gradient into gradient() first");
  EXPECT_EQ(outpace_worker_start_push_steps(worker.get(), nullptr, &error_), OUTPACE_USAGE);
  EXPECT_EQ(outpace_worker_start_push_steps(nullptr, nullptr, &error_), OUTPACE_USAGE);
  std::uint64_t updates = 0;
  float* gradient = outpace_worker_gradient(worker.get(), &error_);
  while (minibatch.count > 0) {
    EXPECT_EQ(minibatch.version, updates++);
    EXPECT_EQ(minibatch.weights[0], 1.0F - static_cast<float>(minibatch.version));
    std::fill_n(gradient, minibatch.numbers, 1.0F);
    ASSERT_EQ(outpace_worker_start_push(worker.get(), 0.5, &error_), OUTPACE_OK) << error_.message;
    float* const next = outpace_worker_gradient(worker.get(), &error_);
    int code = OUTPACE_WAITS;
    while (code == OUTPACE_WAITS) {
      code = outpace_worker_await(worker.get(), 0.001, &verdict, &minibatch, &error_);
    }
    ASSERT_EQ(code, OUTPACE_OK) << error_.message;
    EXPECT_EQ(verdict.outcome, OUTPACE_ACCEPTED) << verdict.why;
    if (minibatch.count > 0) {
      gradient = outpace_worker_gradient(worker.get(), &error_);
      EXPECT_EQ(gradient, next);
    }
  }
  EXPECT_EQ(updates, 2 * kExamples / 4);
  EXPECT_EQ(running.get().code, ExitCode::kDone);
}

TEST_F(WorkerC, SaysWhyAGradientDoesNotCount) {
  auto running = std::async(std::launch::async, [this] { return server_.run(); });
  const Handle worker = open();
  const outpace_job offered = job();
  ASSERT_EQ(outpace_worker_join(worker.get(), &offered, &error_), OUTPACE_OK) << error_.message;
  outpace_minibatch minibatch;
  ASSERT_EQ(outpace_worker_next(worker.get(), &minibatch, &error_), OUTPACE_OK);
  const std::vector<float> gradient(3, std::numeric_limits<float>::quiet_NaN());
  outpace_verdict verdict{};
  ASSERT_EQ(outpace_worker_push(worker.get(), gradient.data(), 0.5, 0, &verdict, &error_),
            OUTPACE_OK);
  EXPECT_EQ(verdict.outcome, OUTPACE_REFUSED);
  EXPECT_STRNE(verdict.why, "");
  ASSERT_EQ(outpace_worker_leave(worker.get(), &error_), OUTPACE_OK) << error_.message;
  server_.stop(ExitCode::kFailure, "enough");
  running.get();
}

TEST_F(WorkerC, NoExceptionLeavesIt) {
  EXPECT_EQ(outpace_worker_open(nullptr, &error_), nullptr);
  EXPECT_STREQ(error_.message, "open: the options are null");
  EXPECT_EQ(error_.code, OUTPACE_USAGE);
  const Handle worker = open();
  outpace_minibatch minibatch;
  EXPECT_EQ(outpace_worker_next(worker.get(), &minibatch, &error_), OUTPACE_USAGE);
  EXPECT_STREQ(error_.message, "next: join() comes first");
  EXPECT_EQ(outpace_worker_gradient(worker.get(), &error_), nullptr);
  EXPECT_EQ(outpace_worker_next(nullptr, &minibatch, nullptr), OUTPACE_USAGE);
  outpace_job nothing = job();
  nothing.parameters = nullptr;
  EXPECT_EQ(outpace_worker_join(worker.get(), &nothing, &error_), OUTPACE_USAGE);
  EXPECT_EQ(outpace_worker_cancelled(nullptr), 0);
  outpace_worker_close(nullptr);
}

TEST_F(WorkerC, HowPushesAreWrittenIsCheckedWithoutAServer) {
  EXPECT_EQ(outpace_check_compress("topk:share=0.02,bits=2,feedback=0.9", &error_), OUTPACE_OK);
  EXPECT_EQ(outpace_check_compress("int3", &error_), OUTPACE_USAGE);
  EXPECT_STREQ(error_.message, "unknown compression 'int3'; did you mean 'int8'?");
  EXPECT_EQ(outpace_check_compress("int4:share=1", nullptr), OUTPACE_USAGE);
  EXPECT_EQ(outpace_check_compress(nullptr, &error_), OUTPACE_USAGE);
}

TEST_F(WorkerC, AWrongTokenIsTheServersAnswer) {
  options_.token = "knock-knock";
  auto running = std::async(std::launch::async, [this] { return server_.run(); });
  const Handle worker = open();
  const outpace_job offered = job();
  EXPECT_EQ(outpace_worker_join(worker.get(), &offered, &error_), OUTPACE_AUTHENTICATION);
  EXPECT_NE(std::string(error_.message).find("token"), std::string::npos) << error_.message;
  server_.stop(ExitCode::kFailure, "enough");
  running.get();
}

TEST_F(WorkerC, AStateGoesToTheServersOptimizer) {
  live::Server server({.token = kToken,
                       .coordinator = {.job = 7, .workers = 1, .batch = 4, .rate = 1},
                       .policy = Spec::parse("sync"),
                       .shard = {.optimizer = Spec::parse("sgd")},
                       .script = {.conflict = ""}},
                      {});
  auto running = std::async(std::launch::async, [&server] { return server.run(); });
  const std::string address = server.address();
  options_.server = address.c_str();
  const Handle worker = open();
  outpace_job offered = job();
  const outpace_group momentum{.method = OUTPACE_MOMENTUM, .rate = 0.0, .momentum = 0.5};
  offered.groups = &momentum;
  offered.group_count = 1;
  offered.state = [](const outpace_optimizer_state** parts, std::size_t* count, void* /*context*/) {
    static constexpr std::array<float, 3> kNumbers{1, 2, 3};
    static const std::array<outpace_optimizer_state, 2> kParts{
        {{.tensor = 0, .part = "velocity", .updates = 1, .numbers = kNumbers.data(), .count = 2},
         {.tensor = 1, .part = "first", .updates = 1, .numbers = &kNumbers[2], .count = 1}}};
    *parts = kParts.data();
    *count = kParts.size();
    return 0;
  };
  outpace_minibatch minibatch{};
  int code = outpace_worker_join(worker.get(), &offered, &error_);
  if (code == 0) {
    code = outpace_worker_next(worker.get(), &minibatch, &error_);
  }
  EXPECT_EQ(code, OUTPACE_INCOMPATIBLE);
  EXPECT_STREQ(error_.message,
               "the optimizer's state of tensor 'offset': its optimizer has no 'first'");
  server.stop(ExitCode::kFailure, "enough");
  running.get();
}

TEST_F(WorkerC, InitialWeightsMayFail) {
  auto running = std::async(std::launch::async, [this] { return server_.run(); });
  const Handle worker = open();
  outpace_job failing = job();
  failing.initial_weights = [](float* /*weights*/, std::size_t /*numbers*/, void* /*context*/) {
    return 1;
  };
  EXPECT_EQ(outpace_worker_join(worker.get(), &failing, &error_), OUTPACE_USAGE);
  EXPECT_STREQ(error_.message, "join: the script failed to supply initial weights");
  server_.stop(ExitCode::kFailure, "enough");
  running.get();
}

}  // namespace
}  // namespace outpace
