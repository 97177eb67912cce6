#include "outpace/worker.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "live/server.h"
#include "live/worker_steps.h"
#include "wire/transports.h"

namespace outpace {
namespace {

constexpr const char* kToken = "open-sesame";
constexpr std::uint64_t kExamples = 60;  // Not a multiple of the mini-batch.
constexpr std::uint64_t kEpochs = 60;

const std::vector<Parameter>& line() {
  static const std::vector<Parameter> kLine{{.name = "slope", .shape = {1, 1}},
                                            {.name = "offset", .shape = {}}};
  return kLine;
}

std::vector<float> zeros() {
  return {0, 0};
}

struct Gradient {
  std::vector<float> numbers;
  double loss = 0.0;
};

// The gradient of the mean of (slope x + offset - y)^2 / 2 over points of the line y = 3x + 1.
Gradient gradient_of(const Minibatch& minibatch) {
  Gradient gradient{.numbers = {0, 0}};
  const auto size = static_cast<float>(minibatch.examples.size());
  for (const std::uint64_t example : minibatch.examples) {
    const float x = 2.0F * static_cast<float>(example) / static_cast<float>(kExamples) - 1.0F;
    const float error = minibatch.weights[0] * x + minibatch.weights[1] - (3.0F * x + 1.0F);
    gradient.numbers[0] += error * x / size;
    gradient.numbers[1] += error / size;
    gradient.loss += 0.5 * error * error / size;
  }
  return gradient;
}

std::string error_of(const std::function<void()>& function, int exit_code) {
  try {
    function();
  } catch (const WorkerError& error) {
    EXPECT_EQ(error.exit_code(), exit_code) << error.what();
    return error.what();
  }
  return "no error";
}

class WorkerTest : public testing::Test {
 public:
 protected:
  [[nodiscard]] std::string address() const { return "unix:" + (folder_ / "s").string(); }

  [[nodiscard]] live::ServerOptions server_options(std::uint32_t workers) const {
    live::ServerOptions options{.listen = address(), .token = kToken};
    options.coordinator.workers = workers;
    options.coordinator.batch = 8;
    options.coordinator.rate = 0.3;
    options.coordinator.limits.epochs = kEpochs;
    options.policy = Spec::parse("async");
    options.shard.optimizer = Spec::parse("sgd");
    return options;
  }
  // A server of its own thread; get() waits for the end of its run.
  [[nodiscard]] std::future<live::RunResult> serve(std::uint32_t workers) const {
    auto server = std::make_unique<live::Server>(server_options(workers), live::ServerCallbacks{});
    return std::async(std::launch::async, [server = std::move(server)] { return server->run(); });
  }

  [[nodiscard]] Worker worker(std::uint32_t rank) const {
    return Worker({.server = address(), .token = kToken, .worker = rank});
  }

  [[nodiscard]] std::string write_token() const {
    std::string path = folder_ / "token";
    std::ofstream(path) << kToken << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  }

 private:
  const TemporaryDirectory folder_;
};

// How often each example was in a mini-batch that counted.
using Ledger = std::vector<std::uint64_t>;

Ledger train(Worker worker) {
  Ledger accepted(kExamples);
  if (!worker.joined()) {
    worker.join(line(), zeros, kExamples);
  }
  while (const auto minibatch = worker.next()) {
    const Gradient gradient = gradient_of(*minibatch);
    if (worker.push(gradient.numbers, gradient.loss).accepted()) {
      for (const std::uint64_t example : minibatch->examples) {
        ++accepted[example];
      }
    }
  }
  return accepted;
}

TEST_F(WorkerTest, TwoWorkersFitALineAndEveryExampleCountsOnceAnEpoch) {
  auto run = serve(2);
  auto other = std::async(std::launch::async, [this] { return train(worker(1)); });
  Ledger accepted = train(worker(0));
  const Ledger of_other = other.get();
  for (std::uint64_t example = 0; example < kExamples; ++example) {
    EXPECT_EQ(accepted[example] + of_other[example], kEpochs) << "example " << example;
  }
  const live::RunResult result = run.get();
  EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
  ASSERT_EQ(result.weights.size(), 2U);
  EXPECT_NEAR(result.weights[0], 3.0, 0.05);
  EXPECT_NEAR(result.weights[1], 1.0, 0.05);
}

TEST_F(WorkerTest, AMiniBatchMayBeAbandonedOrPushedInPartOrForgotten) {
  auto run = serve(1);
  Worker worker = this->worker(0);
  worker.join(line(), zeros, kExamples);
  ASSERT_TRUE(worker.next());
  EXPECT_FALSE(worker.cancelled());
  worker.abandon();
  ASSERT_TRUE(worker.next());
  const auto minibatch = worker.next();  // The one before was neither pushed nor abandoned.
  ASSERT_TRUE(minibatch);
  EXPECT_EQ(minibatch->version, 0U);
  Minibatch part = *minibatch;
  part.examples.resize(3);
  const Gradient gradient = gradient_of(part);
  EXPECT_TRUE(worker.push(gradient.numbers, gradient.loss, part.examples.size()).accepted());
  train(std::move(worker));
  const live::RunResult result = run.get();
  EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
  EXPECT_EQ(result.statistics.gradients_cancelled, 2U);
  EXPECT_EQ(result.statistics.workers[0].partial, 1U);
  EXPECT_EQ(result.statistics.examples_used_per_epoch_min, 1U);
  EXPECT_EQ(result.statistics.examples_used_per_epoch_max, 1U);
}

TEST_F(WorkerTest, ALossThatIsNotFiniteIsRefusedAndTheWorkerGoesOn) {
  auto run = serve(1);
  Worker worker = this->worker(0);
  worker.join(line(), zeros, kExamples);
  ASSERT_TRUE(worker.next());
  const PushResult result = worker.push({0, 0}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(result.outcome, PushOutcome::kRefused);
  EXPECT_EQ(result.why, "not finite");
  train(std::move(worker));
  EXPECT_EQ(run.get().statistics.gradients_refused, 1U);
}

TEST_F(WorkerTest, WhoLeavesGetsNothingMoreAndTheOthersGoOn) {
  auto run = serve(2);
  auto other = std::async(std::launch::async, [this] { return train(worker(1)); });
  Worker worker = this->worker(0);
  worker.join(line(), zeros, kExamples);
  ASSERT_TRUE(worker.next());
  worker.leave();
  EXPECT_FALSE(worker.next());
  EXPECT_FALSE(worker.cancelled());
  EXPECT_EQ(other.get(), Ledger(kExamples, kEpochs));
  EXPECT_EQ(run.get().code, ExitCode::kDone);
}

// A process that is told to end leaves in order, also while it waits for others.
TEST_F(WorkerTest, ACallThatWaitsEndsWhenAnotherThreadSaysSo) {
  live::ServerOptions options = server_options(2);
  options.policy = Spec::parse("sync");
  live::Server server(options, {});
  auto run = std::async(std::launch::async, [&] { return server.run(); });
  Worker other = this->worker(1);
  other.join(line(), zeros, kExamples);
  Worker worker = this->worker(0);
  worker.join(line(), zeros, kExamples);
  const auto minibatch = worker.next();
  ASSERT_TRUE(minibatch);
  const Gradient gradient = gradient_of(*minibatch);
  EXPECT_TRUE(worker.push(gradient.numbers, gradient.loss).accepted());
  auto waits = std::async(std::launch::async, [&] { return worker.next().has_value(); });
  worker.stop_waiting();
  EXPECT_FALSE(waits.get()) << "the other has pushed nothing";
  worker.leave();
  (void)train(std::move(other));
  EXPECT_EQ(run.get().code, ExitCode::kDone);
}

TEST_F(WorkerTest, AWorkerThatComesAfterTheEndOfTheRunHearsSo) {
  live::ServerOptions options = server_options(1);
  options.coordinator.limits.epochs = 1;
  live::Server server(options, {});
  auto run = std::async(std::launch::async, [&server] { return server.run(); });
  EXPECT_EQ(train(worker(0)), Ledger(kExamples, 1));
  EXPECT_EQ(run.get().code, ExitCode::kDone);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Worker late = worker(rank);
    late.join(
        line(), []() -> std::vector<float> { throw std::logic_error("asked"); }, kExamples);
    EXPECT_FALSE(late.next());
    EXPECT_FALSE(late.next());
    EXPECT_EQ(error_of([&late] { late.ask_for_evaluator(); }, 1), "the run is over: epochs done");
    late.leave();
  }
}

TEST_F(WorkerTest, AWorkerThatComesAfterARunThatFailedHearsWhy) {
  live::Server server(server_options(2), {});
  auto run = std::async(std::launch::async, [&server] { return server.run(); });
  server.stop(ExitCode::kFailure, "the disk is full");
  EXPECT_EQ(run.get().code, ExitCode::kFailure);
  EXPECT_EQ(error_of([this] { worker(0).join(line(), zeros, kExamples); }, 1),
            "the run is over: the disk is full");
}

TEST_F(WorkerTest, TellsTheExamplesOfTheNextMinibatches) {
  auto run = serve(1);
  Worker worker = this->worker(0);
  constexpr std::uint32_t kAhead = 3;
  worker.join(line(), zeros, kExamples, {.groups = {}, .ahead = kAhead});
  std::vector<std::vector<std::uint64_t>> told;
  std::size_t minibatches = 0;
  std::size_t as_told = 0;
  while (const auto view = worker.next_view()) {
    ++minibatches;
    as_told += !told.empty() && told.front() == view->examples ? 1U : 0U;
    told = view->ahead;
    EXPECT_LE(told.size(), kAhead);
    EXPECT_TRUE(worker.push(std::vector<float>{0, 0}, 1).accepted());
  }
  // All but the first, and the run's last, which no worker is told.
  EXPECT_EQ(as_told, minibatches - 2);
  EXPECT_EQ(run.get().code, ExitCode::kDone);
  EXPECT_EQ(
      error_of(
          [&] { this->worker(1).join(line(), zeros, kExamples, {.groups = {}, .ahead = 257}); }, 2),
      "join: at most 256 mini-batches can be loaded early");
}

// Whether the address is in memory that processes may share.
bool is_shared(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (begin <= at && at < end) {
      return line.find("memfd:outpace") != std::string::npos;
    }
  }
  return false;
}

TEST_F(WorkerTest, AWorkerOfTheSameMachineComputesWhereTheServerReadsAndWrites) {
  auto run = serve(1);
  Worker worker = this->worker(0);
  constexpr std::size_t kWide = 20'000;
  const std::vector<Parameter> parameters{{.name = "wide", .shape = {kWide}}};
  worker.join(
      parameters, [] { return std::vector<float>(kWide, 1); }, kExamples);
  EXPECT_EQ(error_of([&] { (void)worker.gradient(); }, 2),
            "gradient: this worker has no mini-batch; call next() first");
  std::uint64_t views = 0;
  std::uint64_t shared = 0;
  while (const auto view = worker.next_view()) {
    ASSERT_EQ(view->weights.size(), kWide);
    const std::span<float> gradient = worker.gradient();
    ASSERT_EQ(gradient.size(), kWide);
    shared += is_shared(view->weights.data()) && is_shared(gradient.data()) ? 1U : 0U;
    // The gradient of half the squared distance of the weights from their places.
    for (std::size_t i = 0; i < kWide; ++i) {
      gradient[i] = view->weights[i] - static_cast<float>(i);
    }
    if (++views % 10 == 0) {
      worker.abandon();
    } else if (views % 10 == 1) {
      const std::vector<float> elsewhere(gradient.begin(), gradient.end());
      EXPECT_TRUE(worker.push(std::span(elsewhere), 1).accepted());
    } else {
      EXPECT_TRUE(worker.push(gradient, 1).accepted());
    }
  }
  EXPECT_GT(shared, views / 2);
  const live::RunResult result = run.get();
  EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
  ASSERT_EQ(result.weights.size(), kWide);
  for (std::size_t i = 0; i < kWide; ++i) {
    EXPECT_NEAR(result.weights[i], static_cast<float>(i), 1e-2) << i;
  }
}

// A server that hangs up on the first connection with a release open, and ends the second's run.
TEST_F(WorkerTest, ALostConnectionIsMadeAgainByTheSameProcess) {
  std::vector<std::uint64_t> processes;  // Read after the transport is gone.
  wire::ServerTransport* server = nullptr;
  std::promise<void> made;
  const auto sink = [&, ready = made.get_future().share()](wire::ConnectionId from,
                                                           const wire::ConnectionEvent& event) {
    ready.wait();
    const auto* received = std::get_if<wire::Received>(&event);
    const auto* hello =
        received == nullptr ? nullptr : std::get_if<protocol::Hello>(&received->message);
    if (hello == nullptr) {
      return;
    }
    processes.push_back(hello->process);
    server->send(from, protocol::Welcome{.heartbeat = std::chrono::seconds(1)}, nullptr);
    const bool first = processes.size() == 1;
    if (!first) {
      server->send(from, protocol::Stop{protocol::Farewell::kFinished, "done"}, nullptr);
    } else {
      server->send(from,
                   protocol::Release{.sequence = Sequence{1},
                                     .nominal = 2,
                                     .ranges = {{.epoch = 0, .begin = 0, .end = 2}}},
                   std::make_shared<const std::vector<float>>(zeros()));
    }
    server->close(from);
  };
  auto transport = wire::serve({.address = address(), .token = kToken}, sink);
  server = transport.get();
  made.set_value();
  Worker worker = this->worker(0);
  worker.join(line(), zeros, kExamples);
  if (worker.next()) {  // Or the connection was lost before.
    std::ranges::fill(worker.gradient(), 0.0F);
    live::WorkerSteps::start_push(worker, 0.0);
    EXPECT_EQ(live::WorkerSteps::await_news(worker, std::chrono::seconds(30)),
              live::WorkerSteps::News::kLost);
    EXPECT_EQ(live::WorkerSteps::finish_push(worker).outcome, PushOutcome::kUnanswered);
    EXPECT_TRUE(worker.cancelled());
    EXPECT_FALSE(worker.next());
  }
  transport.reset();
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(processes[0], processes[1]);
  EXPECT_NE(processes[0], 0U);
}

// What a worker does with its first mini-batch, such as ending the script, is of the run.
TEST_F(WorkerTest, TheServerTellsThatTheRunBeginsBeforeAWorkerHasAMiniBatch) {
  std::atomic<bool> begun{false};
  live::ServerCallbacks callbacks;
  callbacks.begins = [&](const protocol::Manifest& /*manifest*/) { begun = true; };
  auto server = std::make_unique<live::Server>(server_options(1), std::move(callbacks));
  auto run = std::async(std::launch::async, [server = std::move(server)] { return server->run(); });
  Worker worker = this->worker(0);
  worker.join(line(), zeros, kExamples);
  ASSERT_TRUE(worker.next());
  EXPECT_TRUE(begun);
  train(std::move(worker));
  EXPECT_EQ(run.get().code, ExitCode::kDone);
}

TEST_F(WorkerTest, AnErrorSaysWhatIsWrongAndHasAnExitCode) {
  auto run = serve(1);
  const std::vector<Parameter> other{{.name = "w", .shape = {3}}};
  EXPECT_EQ(error_of([&] { worker(0).join({}, zeros, 1); }, 2),
            "join: there are no parameters to train");
  EXPECT_EQ(error_of(
                [&] {
                  worker(0).join({{"w", {0}}}, zeros, 1);
                },
                2),
            "join: parameter 'w' has an extent of 0");
  EXPECT_EQ(error_of([&] { (void)worker(0).next(); }, 2), "next: join() comes first");
  EXPECT_EQ(
      error_of([&] { Worker({.server = address(), .token = "no"}).join(line(), zeros, 1); }, 3),
      address() + ": the server refused the token; is --token-file the server's?");
  EXPECT_NE(
      error_of(
          [&] { Worker({.server = "10.255.255.1:4000", .token = "no"}).join(line(), zeros, 1); }, 2)
          .find("is beyond this machine"),
      std::string::npos);
  Worker first = worker(0);
  first.join(line(), zeros, kExamples);
  EXPECT_EQ(error_of([&] { worker(1).join(other, zeros, kExamples); }, 4),
            "another network: tensor 1 is 'w' (3) here, and 'slope' (1, 1) in the job");
  EXPECT_EQ(error_of(
                [&] {
                  first.push({0, 0}, 0.0);
                },
                2),
            "push: this worker has no mini-batch; call next() first");
  ASSERT_TRUE(first.next());
  EXPECT_EQ(error_of([&] { first.push({0}, 0.0); }, 2),
            "push: the gradient has 1 numbers, the parameters hold 2");
  train(std::move(first));
  EXPECT_EQ(run.get().code, ExitCode::kDone);
}

TEST_F(WorkerTest, TheEnvironmentSaysWhereAndWho) {
  for (const char* name : {"OUTPACE_SERVER", "OUTPACE_TOKEN_FILE", "OUTPACE_WORKER"}) {
    ::unsetenv(name);
  }
  const auto error = [] { return error_of([] { (void)Worker::from_environment(); }, 2); };
  EXPECT_EQ(error(),
            "OUTPACE_SERVER is not set; it takes HOST:PORT or unix:PATH of the job's server");
  ::setenv("OUTPACE_SERVER", address().c_str(), 1);
  EXPECT_EQ(error(),
            "OUTPACE_TOKEN_FILE is not set; it takes the file with the job's secret, "
            "the server's --token-file");
  ::setenv("OUTPACE_TOKEN_FILE", "/nowhere", 1);
  EXPECT_EQ(error(), "/nowhere: no such token file; the server makes one with --token-file");
  ::setenv("OUTPACE_TOKEN_FILE", write_token().c_str(), 1);
  EXPECT_EQ(error(), "OUTPACE_WORKER is not set; it takes this worker's rank: 0, 1, 2, ...");
  ::setenv("OUTPACE_TLS_CERT", "worker.pem", 1);
  EXPECT_EQ(error(),
            "--tls-cert without --tls-key and --tls-ca: TLS takes a certificate, its key and the "
            "authority's certificate; add --tls-key and --tls-ca");
  ::unsetenv("OUTPACE_TLS_CERT");
  ::setenv("OUTPACE_INSECURE_NO_TLS", "perhaps", 1);
  EXPECT_EQ(error(), "OUTPACE_INSECURE_NO_TLS is 'perhaps'; it takes true or false");
  ::unsetenv("OUTPACE_INSECURE_NO_TLS");
  ::setenv("OUTPACE_WORKER", "one", 1);
  EXPECT_EQ(error(), "OUTPACE_WORKER is 'one'; it takes 0 to 65535");
  ::setenv("OUTPACE_WORKER", "0", 1);
  ::setenv("OUTPACE_REJOIN_FOR", "soon", 1);
  EXPECT_EQ(error(), "OUTPACE_REJOIN_FOR is 'soon'; it takes a time such as 90s or 10m");
  ::setenv("OUTPACE_REJOIN_FOR", "1m", 1);
  ::setenv("OUTPACE_DELAYS", "/dev/zero", 1);
  EXPECT_EQ(error(), "OUTPACE_DELAYS: /dev/zero is no regular file that can be read");
  ::unsetenv("OUTPACE_DELAYS");
  ::setenv("OUTPACE_COMPRESS", "zip", 1);
  EXPECT_EQ(
      error(),
      "OUTPACE_COMPRESS: unknown compression 'zip'; known: none, bf16, fp16, int8, int4, topk");
  ::unsetenv("OUTPACE_COMPRESS");
  for (const char* wrong : {"0", "17", "many"}) {
    ::setenv("OUTPACE_CONNECTIONS", wrong, 1);
    EXPECT_EQ(error(), "OUTPACE_CONNECTIONS is '" + std::string(wrong) + "'; it takes 1 to 16");
  }
  ::unsetenv("OUTPACE_CONNECTIONS");
  auto run = serve(1);
  train(Worker::from_environment());
  EXPECT_EQ(run.get().code, ExitCode::kDone);
}

}  // namespace
}  // namespace outpace
