// Slices of gradients and weights as outpace/torch.h takes them, over TCP.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "live/server.h"
#include "live/worker_steps.h"
#include "outpace/worker.h"
#include "wire/transports.h"

namespace outpace {
namespace {

using live::WorkerSteps;

constexpr const char* kSlicesToken = "open-sesame";
constexpr std::uint64_t kSlicedExamples = 24;
constexpr std::uint64_t kSlicedEpochs = 6;
constexpr std::size_t kWide = 200'000;  // Weights of each of the two tensors.

const std::vector<Parameter>& two_tensors() {
  static const std::vector<Parameter> kTwo{{.name = "front", .shape = {kWide}},
                                           {.name = "back", .shape = {kWide}}};
  return kTwo;
}

class WorkerSlicesTest : public testing::Test {
 protected:
  // A server of its own thread. A gradient of ones moves each weight by -1.
  void serve() {
    live::ServerOptions options{.listen = "127.0.0.1:0", .token = kSlicesToken};
    options.coordinator.workers = 1;
    options.coordinator.batch = 8;
    options.coordinator.rate = 1.0;
    options.coordinator.limits.epochs = kSlicedEpochs;
    options.policy = Spec::parse("async");
    options.shard.optimizer = Spec::parse("sgd");
    auto server = std::make_unique<live::Server>(options, live::ServerCallbacks{});
    address_ = server->address();
    run_ = std::async(std::launch::async, [server = std::move(server)] { return server->run(); });
  }
  [[nodiscard]] Worker joined(std::uint64_t slice_bytes = 1) const {
    Worker worker({.server = address_, .token = kSlicesToken, .slice_bytes = slice_bytes});
    worker.join(
        two_tensors(), [] { return std::vector<float>(2 * kWide, 0.0F); }, kSlicedExamples);
    return worker;
  }
  // Trains to the end, each gradient in two slices and the front.
  static std::uint64_t train(Worker& worker) {
    std::uint64_t updates = 0;
    while (const auto minibatch = WorkerSteps::next_early(worker)) {
      EXPECT_TRUE(WorkerSteps::wait_for(worker, 1));
      const float first = minibatch->weights[0];
      EXPECT_TRUE(WorkerSteps::wait_for(worker, 2 * kWide));
      for (const float weight : minibatch->weights) {
        if (weight != first) {
          ADD_FAILURE() << "weights of two versions";
          break;
        }
      }
      const std::span<float> gradient = worker.gradient();
      std::fill(gradient.begin() + kWide, gradient.end(), 1.0F);
      WorkerSteps::push_slice(worker, kWide, 2 * kWide);
      std::fill(gradient.begin() + 10, gradient.begin() + kWide, 1.0F);
      WorkerSteps::push_slice(worker, 10, kWide);
      std::fill(gradient.begin(), gradient.begin() + 10, 1.0F);
      updates += worker.push(gradient, 1.0).accepted() ? 1U : 0U;
    }
    return updates;
  }
  [[nodiscard]] live::RunResult result() { return run_.get(); }
  static std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const WorkerError& error) {
      EXPECT_EQ(error.exit_code(), 2);
      return error.what();
    }
    return "accepted";
  }

 private:
  std::string address_;
  std::future<live::RunResult> run_;
};

TEST_F(WorkerSlicesTest, AddUpToWholeGradientsOfWholeVersions) {
  serve();
  Worker worker = joined();
  const std::uint64_t updates = train(worker);
  const live::RunResult end = result();
  EXPECT_EQ(end.code, ExitCode::kDone) << end.why;
  EXPECT_EQ(updates, kSlicedEpochs * kSlicedExamples / 8);
  EXPECT_EQ(end.weights, std::vector<float>(2 * kWide, -static_cast<float>(updates)));
}

TEST_F(WorkerSlicesTest, AreDiscardedWithTheirMiniBatchAndTheNextOneIsRight) {
  serve();
  Worker worker = joined();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(WorkerSteps::next_early(worker));
    const std::span<float> gradient = worker.gradient();
    std::fill(gradient.begin(), gradient.end(), 1000.0F);
    WorkerSteps::push_slice(worker, kWide, 2 * kWide);
    if (i % 2 == 0) {
      worker.abandon();
    }  // Else next_early() does.
  }
  const std::uint64_t updates = train(worker);
  const live::RunResult end = result();
  EXPECT_EQ(end.statistics.gradients_cancelled, 5U);
  EXPECT_EQ(end.weights, std::vector<float>(2 * kWide, -static_cast<float>(updates)));
}

TEST_F(WorkerSlicesTest, OfALossThatIsNotFiniteAreRefusedWhole) {
  serve();
  Worker worker = joined();
  ASSERT_TRUE(WorkerSteps::next_early(worker));
  const std::span<float> gradient = worker.gradient();
  std::fill(gradient.begin(), gradient.end(), 1.0F);
  WorkerSteps::push_slice(worker, 1, 2 * kWide);
  EXPECT_EQ(worker.push(gradient, HUGE_VAL).outcome, PushOutcome::kRefused);
  const std::uint64_t updates = train(worker);
  EXPECT_EQ(result().weights, std::vector<float>(2 * kWide, -static_cast<float>(updates)));
}

TEST_F(WorkerSlicesTest, NothingLeavesEarlyWithoutSlices) {
  serve();
  Worker worker = joined(0);
  const std::uint64_t updates = train(worker);
  EXPECT_EQ(result().weights, std::vector<float>(2 * kWide, -static_cast<float>(updates)));
}

TEST_F(WorkerSlicesTest, WhoUsesThemWronglyIsTold) {
  serve();
  Worker worker = joined();
  EXPECT_EQ(refusal([&] { (void)WorkerSteps::wait_for(worker, 1); }),
            "wait_for: this worker has no mini-batch; call next_early() first");
  EXPECT_EQ(refusal([&] { WorkerSteps::push_slice(worker, 0, 1); }),
            "push_slice: write the gradient into gradient() first");
  ASSERT_TRUE(WorkerSteps::next_early(worker));
  EXPECT_EQ(refusal([&] { (void)WorkerSteps::wait_for(worker, 2 * kWide + 1); }),
            "wait_for: 400001 weights, the parameters hold 400000");
  (void)worker.gradient();
  EXPECT_EQ(refusal([&] { WorkerSteps::push_slice(worker, 5, 400'001); }),
            "numbers [5, 400001) of the gradient are none; it has 400000");
  WorkerSteps::push_slice(worker, kWide, 2 * kWide);
  EXPECT_EQ(refusal([&] { WorkerSteps::push_slice(worker, 2 * kWide - 1, 2 * kWide); }),
            "numbers [399999, 400000) of the gradient were final before");
  EXPECT_EQ(refusal([&] { worker.push(std::vector<float>(2 * kWide), 1.0); }),
            "push: slices of gradient() have left; push gradient() itself");
  worker.abandon();
  const std::uint64_t updates = train(worker);
  EXPECT_EQ(result().weights, std::vector<float>(2 * kWide, -static_cast<float>(updates)));
}

// The server dies while its weights are on their way: nobody waits for them.
TEST_F(WorkerSlicesTest, WeightsThatWillNotComeAreNotWaitedFor) {
  std::promise<wire::ServerTransport*> made;
  auto transport = made.get_future().share();
  const auto sink = [&](wire::ConnectionId from, const wire::ConnectionEvent& event) {
    const auto* received = std::get_if<wire::Received>(&event);
    if (received == nullptr || !std::holds_alternative<protocol::Hello>(received->message)) {
      return;
    }
    wire::ServerTransport& server = *transport.get();
    server.send(from, protocol::Welcome{.heartbeat = std::chrono::seconds(1)}, nullptr);
    // More than the sockets hold: the rest waits in the server.
    server.send(
        from,
        protocol::Release{
            .sequence = Sequence{1}, .nominal = 2, .ranges = {{.epoch = 0, .begin = 0, .end = 2}}},
        std::make_shared<const std::vector<float>>(16U << 20U));
  };
  auto server = wire::serve({.address = "127.0.0.1:0", .token = kSlicesToken}, sink);
  made.set_value(server.get());
  Worker worker({.server = server->address(),
                 .token = kSlicesToken,
                 .rejoin_for = std::chrono::milliseconds(1),
                 .slice_bytes = 1});
  worker.join(
      {{.name = "huge", .shape = {16U << 20U}}},
      [] { return std::vector<float>(); },
      kSlicedExamples);
  ASSERT_TRUE(WorkerSteps::next_early(worker));
  server.reset();
  // All or not: what matters is that it returns.
  if (!WorkerSteps::wait_for(worker, 16U << 20U)) {
    EXPECT_TRUE(worker.cancelled());
  }
  worker.abandon();
  EXPECT_THROW((void)WorkerSteps::next_early(worker), WorkerError);
}

}  // namespace
}  // namespace outpace
