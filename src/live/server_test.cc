#include "live/server.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "live/worker_session.h"
#include "wire/transport_test.h"

namespace outpace::live {
namespace {

protocol::Manifest network_of(std::uint64_t numbers) {
  return {.tensors = {{.name = "w", .shape = {numbers}}}};
}

protocol::Hello hello_of(std::uint32_t worker, const protocol::Manifest& network = network_of(2)) {
  return {.worker = WorkerId{worker},
          .process = worker,
          .host = "here",
          .dataset_examples = 10,
          .manifest = network};
}

// A client that says what the test wants it to say.
class RawPeer {
 public:
  RawPeer(const std::string& address, const protocol::Message& first)
      : transport_(
            wire::connect({.address = address, .token = wire::kToken, .deadline = wire::kPatience},
                          events_.client_sink())) {
    transport_->authorise(1000);
    send(first);
  }

  void send(const protocol::Message& message, std::vector<float> numbers = {}) {
    transport_->send(
        message,
        numbers.empty() ? nullptr : std::make_shared<const std::vector<float>>(std::move(numbers)));
  }
  // The message after those that were taken before; nothing if none came in time.
  [[nodiscard]] std::optional<wire::Received> next() {
    if (!events_.wait_received(wire::ConnectionId{0}, ++taken_)) {
      return std::nullopt;
    }
    return events_.log().received[taken_ - 1];
  }
  template <typename Message>
  [[nodiscard]] Message next_as() {
    const auto received = next();
    const auto* message = received ? std::get_if<Message>(&received->message) : nullptr;
    EXPECT_NE(message, nullptr) << "another message, or none";
    return message == nullptr ? Message{} : *message;
  }
  [[nodiscard]] bool closed() { return events_.wait_closed(wire::ConnectionId{0}); }

 private:
  wire::Recorder events_;
  std::size_t taken_ = 0;
  std::unique_ptr<wire::ClientTransport> transport_;
};

class ServerTest : public testing::Test {
 public:
 protected:
  ~ServerTest() override {
    if (server_) {
      server_->stop(ExitCode::kFailure, "the test is over");
      if (run_.valid()) {
        run_.wait();
      }
    }
  }

  struct Evaluators {
    bool expected = false;
    bool needed = false;
    Duration patience = wire::kPatience * 4;
  };
  // Raw peers have no heart.
  void serve(std::uint32_t workers, Duration heartbeat_timeout = wire::kPatience * 4) {
    serve(workers, {}, heartbeat_timeout);
  }
  void serve(std::uint32_t workers,
             const Evaluators& evaluators,
             Duration heartbeat_timeout = wire::kPatience * 4) {
    ServerOptions options{.listen = "unix:" + (folder_ / "s").string(), .token = wire::kToken};
    options.coordinator.workers = workers;
    options.coordinator.batch = 2;
    options.coordinator.limits.updates = 4;
    options.coordinator.heartbeat_timeout = heartbeat_timeout;
    options.coordinator.evaluate_every = 2;  // After each update.
    options.coordinator.patience = evaluators.patience;
    options.expects_evaluator = evaluators.expected;
    options.needs_evaluator = evaluators.needed;
    options.policy = Spec::parse("async");
    options.shard.optimizer = Spec::parse("sgd");
    server_ = std::make_unique<Server>(
        options,
        ServerCallbacks{.warned = [this](const std::string& line) { said_.put(line); },
                        .trained =
                            [this](const protocol::Manifest& /*manifest*/,
                                   std::span<const float> weights,
                                   Version /*version*/) {
                              trained_.set_value({weights.begin(), weights.end()});
                            }});
    run_ = std::async(std::launch::async, [this] { return server_->run(); });
  }
  [[nodiscard]] SessionOptions session(std::uint32_t worker) const {
    return {.server = server_->address(),
            .token = wire::kToken,
            .worker = WorkerId{worker},
            .process = worker};
  }
  // Waits until the server has said a line with this in it.
  [[nodiscard]] bool until_said(const std::string& part) { return said_.wait(part); }

  // The final weights, as soon as they are handed over.
  [[nodiscard]] std::vector<float> trained() {
    auto weights = trained_.get_future();
    if (weights.wait_for(wire::kPatience) != std::future_status::ready) {
      ADD_FAILURE() << "the weights were not handed over";
      return {};
    }
    return weights.get();
  }
  void stop(ExitCode code) { server_->stop(code, "the test says so"); }
  [[nodiscard]] RunResult result() { return run_.get(); }

  [[nodiscard]] std::string address() const { return server_->address(); }
  [[nodiscard]] RawPeer peer(const protocol::Message& first) const {
    return {server_->address(), first};
  }
  // A peer with this first message that is welcomed; tries until the server has noticed that those
  // that left are gone.
  [[nodiscard]] std::unique_ptr<RawPeer> welcomed(const protocol::Message& first,
                                                  protocol::Welcome* welcome = nullptr) const {
    const auto deadline = std::chrono::steady_clock::now() + wire::kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      auto peer = std::make_unique<RawPeer>(server_->address(), first);
      const auto answer = peer->next();
      if (answer && std::holds_alternative<protocol::Welcome>(answer->message)) {
        if (welcome != nullptr) {
          *welcome = std::get<protocol::Welcome>(answer->message);
        }
        return peer;
      }
    }
    return nullptr;
  }

 private:
  class Lines {
   public:
    void put(const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
      changed_.notify_all();
    }
    bool wait(const std::string& part) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, wire::kPatience, [&] {
        return std::ranges::any_of(
            lines_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
      });
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> lines_;
  };

  const TemporaryDirectory folder_;
  Lines said_;
  std::promise<std::vector<float>> trained_;
  std::unique_ptr<Server> server_;
  std::future<RunResult> run_;
};

// ---- What peers offer before the run starts -----------------------------------------------------

TEST_F(ServerTest, AForeignWorkerThatLeavesBeforeTheStartIsForgotten) {
  serve(2);
  {
    RawPeer foreign = peer(hello_of(0, network_of(3)));
    EXPECT_TRUE(foreign.next_as<protocol::Welcome>().needs_weights);
    foreign.send(protocol::InitialWeights{}, {1, 2, 3});
    // While it is there, its network is the job's.
    RawPeer right = peer(hello_of(1));
    EXPECT_EQ(right.next_as<protocol::Stop>().why,
              "another network: 1 tensors of 2 numbers, the job's has 1 of 3");
  }
  ASSERT_TRUE(until_said("worker 0 is gone"));
  RawPeer zero = peer(hello_of(0));
  EXPECT_TRUE(zero.next_as<protocol::Welcome>().needs_weights);
  protocol::Hello other_size = hello_of(1);
  other_size.dataset_examples = 11;
  EXPECT_EQ(peer(other_size).next_as<protocol::Stop>().why,
            "this worker's data set has 11 examples, the job's has 10");
  zero.send(protocol::InitialWeights{}, {4, 5});
  RawPeer one = peer(hello_of(1));
  (void)one.next_as<protocol::Welcome>();
  const auto released = zero.next();
  ASSERT_TRUE(released && std::holds_alternative<protocol::Release>(released->message));
  EXPECT_EQ(released->payload, (std::vector<float>{4, 5}));
}

TEST_F(ServerTest, AForeignEvaluatorOrAWorkerWithoutWeightsIsForgottenToo) {
  serve(2);
  { const RawPeer foreign = peer(protocol::Observe{.manifest = network_of(7)}); }
  EXPECT_NE(welcomed(hello_of(0, network_of(3))), nullptr);  // It leaves at once.
  EXPECT_NE(welcomed(hello_of(0)), nullptr);
}

TEST_F(ServerTest, InitialWeightsAreForgottenWithTheWorkerThatBroughtThem) {
  serve(3);
  auto bringer = welcomed(hello_of(0));
  ASSERT_NE(bringer, nullptr);
  bringer->send(protocol::InitialWeights{}, {8, 8});
  WorkerSession one(session(1),
                    {.manifest = network_of(2), .dataset_examples = 10, .initial_weights = [] {
                       return std::vector<float>{6, 7};
                     }});
  bringer.reset();
  ASSERT_TRUE(until_said("worker 0 is gone"));
  const auto second = welcomed(hello_of(0));
  const auto two = welcomed(hello_of(2));
  ASSERT_TRUE(second && two);
  const auto task = one.next();
  ASSERT_TRUE(task);
  EXPECT_EQ(task->weights, (std::vector<float>{6, 7}));
}

TEST_F(ServerTest, TheStartFixesTheNetwork) {
  serve(1);
  {
    RawPeer only = peer(hello_of(0));
    EXPECT_TRUE(only.next_as<protocol::Welcome>().needs_weights);
    only.send(protocol::InitialWeights{}, {8, 8});
    (void)only.next_as<protocol::Release>();
  }
  ASSERT_TRUE(until_said("worker 0 is gone"));
  EXPECT_EQ(peer(hello_of(0, network_of(3))).next_as<protocol::Stop>().why,
            "another network: 1 tensors of 3 numbers, the job's has 1 of 2");
}

// ---- Which process holds a rank -----------------------------------------------------------------

protocol::Hello hello_of_process(std::uint64_t process, const std::string& host) {
  protocol::Hello hello = hello_of(0);
  hello.process = process;
  hello.host = host;
  return hello;
}

TEST_F(ServerTest, AFreshProcessOfARankWhoseProcessIsGoneIsTheNextIncarnation) {
  serve(1);
  for (std::uint32_t life = 1; life <= 3; ++life) {
    protocol::Welcome welcome{};
    const auto worker = welcomed(hello_of_process(life, "here"), &welcome);
    ASSERT_NE(worker, nullptr);
    EXPECT_EQ(welcome.incarnation, life);
    if (welcome.needs_weights) {
      worker->send(protocol::InitialWeights{}, {1, 2});
    }
    (void)worker->next_as<protocol::Release>();
    if (life == 2) {  // Or it is gone without a word.
      worker->send(protocol::Goodbye{});
    }
  }
}

TEST_F(ServerTest, AProcessIsRefusedWhileAnotherOfItsRankIsAlive) {
  serve(2);
  RawPeer first = peer(hello_of_process(7, "gnode1:1"));
  (void)first.next_as<protocol::Welcome>();
  RawPeer second = peer(hello_of_process(8, "gnode2:1"));
  const auto stop = second.next_as<protocol::Stop>();
  EXPECT_EQ(stop.how, protocol::Farewell::kFenced);
  EXPECT_EQ(stop.why,
            "worker 0 is alive at gnode1:1; end that process first, or take another --worker");
  EXPECT_TRUE(second.closed());
  EXPECT_TRUE(until_said("refused a process at gnode2:1: worker 0 is alive at gnode1:1"));
  first.send(protocol::InitialWeights{}, {1, 2});  // It goes on.
  RawPeer other = peer(hello_of(1));
  (void)other.next_as<protocol::Welcome>();
  (void)first.next_as<protocol::Release>();
}

TEST_F(ServerTest, AProcessThatConnectsAnewTakesItsOwnPlace) {
  serve(1);
  RawPeer before = peer(hello_of_process(7, "here"));
  (void)before.next_as<protocol::Welcome>();
  before.send(protocol::InitialWeights{}, {1, 2});
  (void)before.next_as<protocol::Release>();
  RawPeer after = peer(hello_of_process(7, "here"));
  EXPECT_EQ(after.next_as<protocol::Welcome>().incarnation, 2U);
  (void)after.next_as<protocol::Release>();
  EXPECT_EQ(before.next_as<protocol::Stop>().why, "this process has connected anew");
  EXPECT_TRUE(before.closed());
}

TEST_F(ServerTest, AProcessThatIsSilentBeforeTheStartHoldsItsRankNoLonger) {
  serve(2, std::chrono::nanoseconds(5));
  RawPeer silent = peer(hello_of_process(7, "here"));
  (void)silent.next_as<protocol::Welcome>();
  RawPeer fresh = peer(hello_of_process(8, "here"));
  EXPECT_EQ(fresh.next_as<protocol::Welcome>().incarnation, 2U);
  EXPECT_EQ(silent.next_as<protocol::Stop>().how, protocol::Farewell::kPresumedDead);
}

// ---- Nobody waits for an answer that never comes ------------------------------------------------

protocol::Push push_of(const protocol::Welcome& welcome, const protocol::Release& release) {
  return {.id = {.job = welcome.job,
                 .generation = welcome.generation,
                 .worker = WorkerId{0},
                 .incarnation = 1,
                 .sequence = release.sequence},
          .examples = 2,
          .partial = false,
          .loss = 0.5,
          .compute_seconds = 0.1};
}

// A job of one worker, raw, that has its first release.
class OpenReleaseTest : public ServerTest {
 protected:
  void SetUp() override {
    serve(1);
    worker_ = std::make_unique<RawPeer>(address(), hello_of(0));
    const auto welcome = worker_->next_as<protocol::Welcome>();
    worker_->send(protocol::InitialWeights{}, {8, 8});
    push_ = push_of(welcome, worker_->next_as<protocol::Release>());
  }
  // What the server says when it ends the connection for this push.
  [[nodiscard]] std::string farewell_to(const protocol::Push& push, std::vector<float> gradient) {
    worker_->send(push, std::move(gradient));
    const auto stop = worker_->next_as<protocol::Stop>();
    EXPECT_EQ(stop.how, protocol::Farewell::kFailed);
    EXPECT_TRUE(worker_->closed());
    EXPECT_TRUE(until_said("worker 0 is sent away: " + stop.why));
    return stop.why;
  }

  std::unique_ptr<RawPeer> worker_;
  protocol::Push push_{};
};

TEST_F(OpenReleaseTest, AGradientOfAnotherSizeEndsTheConnectionWithTheReason) {
  EXPECT_EQ(farewell_to(push_, {1}), "push: the gradient has 1 numbers, the job's network has 2");
}

TEST_F(OpenReleaseTest, APushForAnotherJobEndsTheConnectionWithTheReason) {
  ++push_.id.job;
  EXPECT_EQ(farewell_to(push_, {1, 1}),
            "push: for another job, or for this job's server before it was restarted");
}

TEST_F(OpenReleaseTest, APushOfAnotherIncarnationEndsTheConnectionWithTheReason) {
  push_.id.incarnation = 0;
  EXPECT_EQ(farewell_to(push_, {1, 1}),
            "push: of worker 0, incarnation 0; this connection is of worker 0, incarnation 1");
}

TEST_F(OpenReleaseTest, APushThatAnswersNoOpenReleaseIsRefused) {
  const Sequence open = push_.id.sequence;
  push_.id.sequence = Sequence{99};
  worker_->send(push_, {1, 1});
  const auto refused = worker_->next_as<protocol::Verdict>();
  EXPECT_EQ(refused.sequence, Sequence{99});
  EXPECT_EQ(refused.outcome, protocol::Outcome::kRefused);
  EXPECT_EQ(refused.why, "push: this mini-batch was answered or given up before");
  push_.id.sequence = open;  // The release is open as before.
  worker_->send(push_, {1, 1});
  EXPECT_EQ(worker_->next_as<protocol::Verdict>().outcome, protocol::Outcome::kAccepted);
}

// ---- Evaluators ---------------------------------------------------------------------------------

// A job of one worker and one evaluator, both raw; the worker has its first release.
class EvaluatorTest : public OpenReleaseTest {
 protected:
  void SetUp() override {
    serve(1, {.expected = true});
    worker_ = std::make_unique<RawPeer>(address(), hello_of(0));
    const auto welcome = worker_->next_as<protocol::Welcome>();
    worker_->send(protocol::InitialWeights{}, {8, 8});
    first_ = evaluator();
    push_ = push_of(welcome, worker_->next_as<protocol::Release>());
  }
  [[nodiscard]] std::unique_ptr<RawPeer> evaluator() const {
    return std::make_unique<RawPeer>(address(), protocol::Observe{.manifest = network_of(2)});
  }
  // Answers the open release, and takes the next one.
  void push() {
    worker_->send(push_, {1, 1});
    EXPECT_EQ(worker_->next_as<protocol::Verdict>().outcome, protocol::Outcome::kAccepted);
    push_.id.sequence = worker_->next_as<protocol::Release>().sequence;
  }
  static void expect_snapshot(RawPeer& evaluator, std::uint64_t version) {
    EXPECT_EQ(evaluator.next_as<protocol::Snapshot>().version, Version{version});
  }

  std::unique_ptr<RawPeer> first_;
};

TEST_F(EvaluatorTest, ASecondOneWaitsInLineAndTakesOverWhenTheFirstLeaves) {
  const auto second = evaluator();
  ASSERT_TRUE(until_said("another evaluator has come: it waits in line"));
  push();
  expect_snapshot(*first_, 1);
  first_.reset();
  ASSERT_TRUE(until_said("the next one in line takes over"));
  push();
  expect_snapshot(*second, 2);
}

TEST_F(EvaluatorTest, ASecondOneThatGoesTakesNothingFromTheFirst) {
  auto second = evaluator();
  ASSERT_TRUE(until_said("another evaluator has come"));
  second.reset();
  push();
  expect_snapshot(*first_, 1);
  push();
  expect_snapshot(*first_, 2);
}

TEST_F(EvaluatorTest, OneThatGoesIsNews) {
  first_.reset();
  EXPECT_TRUE(until_said("nothing is measured until another one comes"));
}

TEST_F(EvaluatorTest, TheWeightsAreHandedOverBeforeAnEvaluatorThatHangs) {
  push();
  expect_snapshot(*first_, 1);
  stop(ExitCode{128 + 15});
  EXPECT_EQ(trained().size(), 2U);
  first_.reset();  // It measures nothing, but its end is the end of the wait.
  EXPECT_EQ(result().code, ExitCode{128 + 15});
}

TEST_F(EvaluatorTest, TheNextInLineMeasuresTheLastWeightsInPlaceOfOneThatGoes) {
  const auto second = evaluator();
  ASSERT_TRUE(until_said("another evaluator has come"));
  push();
  expect_snapshot(*first_, 1);
  stop(ExitCode::kDone);
  (void)trained();
  first_.reset();
  expect_snapshot(*second, 1);
  second->send(protocol::Measurement{.version = Version{1}, .accuracy = 0.75, .loss = 0.5});
  const RunResult ended = result();
  ASSERT_EQ(ended.evaluations.size(), 1U);
  EXPECT_EQ(ended.evaluations.front().accuracy, 0.75);
}

TEST_F(ServerTest, ARunThatEndsWithoutAnEvaluatorStartsWithoutOneToo) {
  serve(1, {.expected = true, .patience = std::chrono::seconds(2)});
  RawPeer worker = peer(hello_of(0));
  (void)worker.next_as<protocol::Welcome>();
  worker.send(protocol::InitialWeights{}, {8, 8});
  (void)worker.next_as<protocol::Release>();
  EXPECT_TRUE(until_said("starting without the evaluator"));
}

TEST_F(ServerTest, ARunThatNeedsAnEvaluatorSaysThatNoneHasCome) {
  serve(1, {.expected = true, .needed = true, .patience = std::chrono::seconds(2)});
  RawPeer worker = peer(hello_of(0));
  (void)worker.next_as<protocol::Welcome>();
  worker.send(protocol::InitialWeights{}, {8, 8});
  const RunResult ended = result();
  EXPECT_EQ(ended.code, ExitCode::kTooFewWorkers);
  EXPECT_EQ(ended.why, "the evaluator has not come, and the run's target or policy needs one");
}

TEST_F(ServerTest, APushBeforeJoiningEndsTheConnectionWithTheReason) {
  serve(2);
  RawPeer early = peer(hello_of(0));
  const auto welcome = early.next_as<protocol::Welcome>();
  early.send(push_of(welcome, {.sequence = Sequence{1}}), {1, 1});
  EXPECT_EQ(early.next_as<protocol::Stop>().why,
            "push: this worker has no mini-batch: it has not joined yet");
  EXPECT_TRUE(early.closed());
}

TEST_F(ServerTest, InitialWeightsThatAreNotFiniteAreRefusedAndAnotherWorkerMayBringThem) {
  serve(1);
  RawPeer wrong = peer(hello_of(0));
  (void)wrong.next_as<protocol::Welcome>();
  wrong.send(protocol::InitialWeights{}, {1, std::numeric_limits<float>::quiet_NaN()});
  const auto stop = wrong.next_as<protocol::Stop>();
  EXPECT_EQ(stop.how, protocol::Farewell::kIncompatible);
  EXPECT_EQ(stop.why,
            "initial weights: tensor 'w' has a number that is not finite (NaN at position 1)");
  RawPeer right = peer(hello_of(0));
  EXPECT_TRUE(right.next_as<protocol::Welcome>().needs_weights);
  right.send(protocol::InitialWeights{}, {1, 2});
  (void)right.next_as<protocol::Release>();
}

TEST_F(ServerTest, AWorkerNumberBeyondTheJobsIsRefused) {
  serve(2);
  const auto stop = peer(hello_of(2)).next_as<protocol::Stop>();
  EXPECT_EQ(stop.how, protocol::Farewell::kIncompatible);
  EXPECT_EQ(stop.why,
            "worker 2 is out of range: this job has --workers 2, so --worker takes 0 to 1");
  EXPECT_NE(welcomed(hello_of(1)), nullptr);
}

}  // namespace
}  // namespace outpace::live
