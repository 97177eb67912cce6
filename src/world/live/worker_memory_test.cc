// The memory of a worker's weights and gradients: it is used again, and it may be kept.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/temporary_directory_test.h"
#include "live/server.h"
#include "live/worker_steps.h"
#include "outpace/worker.h"

namespace outpace {
namespace {

constexpr const char* kSecret = "open-sesame";
constexpr std::size_t kNumbers = std::size_t{1} << 20U;
constexpr long kPages = kNumbers * sizeof(float) / 4096;

// Over TCP, and over a Unix socket with shared memory.
class WorkerMemoryTest : public testing::TestWithParam<bool> {
 protected:
  WorkerMemoryTest() {
    live::ServerOptions options{
        .listen = GetParam() ? "127.0.0.1:0" : "unix:" + (folder_ / "s").string(),
        .token = kSecret};
    options.coordinator.workers = 1;
    options.coordinator.batch = 1;
    options.coordinator.rate = 0.001;
    options.policy = Spec::parse("async");
    options.shard.optimizer = Spec::parse("sgd");
    server_.emplace(std::move(options), live::ServerCallbacks{});
    worker_.emplace(WorkerOptions{.server = server_->address(), .token = kSecret});
    run_ = std::async(std::launch::async, [this] { return server_->run(); });
    worker_->join(
        {{.name = "w", .shape = {kNumbers}}},
        [] { return std::vector<float>(kNumbers, 1.0F); },
        std::uint64_t{1} << 30U);
  }
  ~WorkerMemoryTest() override { end(); }

  [[nodiscard]] Worker& worker() { return *worker_; }
  // Worker and server are gone after it.
  void end() {
    worker_.reset();
    if (server_) {
      server_->stop(ExitCode::kDone, "the test is over");
      (void)run_.get();
      server_.reset();
    }
  }

 private:
  const TemporaryDirectory folder_;
  std::optional<live::Server> server_;
  std::future<live::RunResult> run_;
  std::optional<Worker> worker_;
};

// The sanitizers bring an allocator of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Pages that the system gave the calling thread while it did this ten times, after three times in
// which memory was made.
template <typename Iteration>
long pages_of_ten(Iteration iteration) {
  rusage before{};
  rusage after{};
  for (int i = 0; i < 13; ++i) {
    if (i == 3) {
      ::getrusage(RUSAGE_THREAD, &before);
    }
    iteration();
  }
  ::getrusage(RUSAGE_THREAD, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST_P(WorkerMemoryTest, IsUsedAgainByViews) {
  (void)worker().next_view();
  EXPECT_LT(pages_of_ten([this] {
              const std::span<float> gradient = worker().gradient();
              std::fill(gradient.begin(), gradient.end(), 1.0F);
              EXPECT_TRUE(worker().push(gradient, 1.0).accepted());
              EXPECT_TRUE(worker().next_view());
            }),
            kPages)
      << "without it, every time takes as many and more";
}

TEST_P(WorkerMemoryTest, OfAPushedVectorIsThatOfTheNextWeights) {
  std::optional<Minibatch> minibatch = worker().next();
  EXPECT_LT(pages_of_ten([&] {
              EXPECT_TRUE(worker().push(std::move(minibatch->weights), 1.0).accepted());
              minibatch = worker().next();
              ASSERT_TRUE(minibatch);
              ASSERT_EQ(minibatch->weights.size(), kNumbers);
            }),
            kPages);
}

#endif

TEST_P(WorkerMemoryTest, MayBeKeptLongerThanTheWorker) {
  for (int i = 0; i < 3; ++i) {  // The first payloads of a connection are not shared.
    ASSERT_TRUE(worker().next_view());
    ASSERT_TRUE(worker().push(worker().gradient(), 1.0).accepted());
  }
  const std::optional<MinibatchView> view = worker().next_view();
  ASSERT_TRUE(view);
  const std::span<float> gradient = worker().gradient();
  std::iota(gradient.begin(), gradient.end(), 0.0F);
  const std::shared_ptr<const void> memory = live::WorkerSteps::memory(worker());
  end();
  EXPECT_EQ(gradient.back(), static_cast<float>(kNumbers - 1));
  // Nobody has written there since.
  EXPECT_NEAR(view->weights.front(), 1.0F, 0.1F);
  EXPECT_NEAR(view->weights.back(), 1.0F, 0.1F);
}

INSTANTIATE_TEST_SUITE_P(Carriers, WorkerMemoryTest, testing::Bool(), [](const auto& carrier) {
  return carrier.param ? "Tcp" : "SharedMemory";
});

}  // namespace
}  // namespace outpace
