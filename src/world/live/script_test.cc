// Scripts by include/outpace: their optimizer, schedule, epochs and evaluator at a real server.

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/memory_archive.h"
#include "base/temporary_directory_test.h"
#include "live/server.h"
#include "outpace/evaluator.h"
#include "outpace/worker.h"

namespace outpace {
namespace {

constexpr const char* kScriptToken = "open-sesame";
constexpr std::uint64_t kScriptExamples = 16;

const std::vector<Parameter>& two_numbers() {
  static const std::vector<Parameter> kTwo{{.name = "a", .shape = {1}, .group = 0},
                                           {.name = "b", .shape = {1}, .group = 1}};
  return kTwo;
}

const std::vector<Parameter>& one_group() {
  static const std::vector<Parameter> kOne{{.name = "a", .shape = {1}},
                                           {.name = "b", .shape = {1}}};
  return kOne;
}

// "code: what was thrown"; empty: nothing was.
std::string thrown_by(const std::function<void()>& function) {
  try {
    function();
  } catch (const WorkerError& error) {
    return std::to_string(error.exit_code()) + ": " + error.what();
  }
  return "";
}

class ScriptTest : public testing::Test {
 protected:
  // Every update is one gradient of all examples: an epoch.
  ScriptTest() {
    options_.listen = "unix:" + (folder_ / "s").string();
    options_.token = kScriptToken;
    options_.coordinator.workers = 1;
    options_.coordinator.batch = kScriptExamples;
    options_.coordinator.rate = 0.1;
    options_.coordinator.limits.epochs = 2;
    options_.policy = Spec::parse("sync");
    options_.shard.optimizer = Spec::parse("sgd");
    options_.script = {.conflict = "", .epochs = false};
  }

  std::future<live::RunResult> serve(live::ServerCallbacks callbacks = {}) {
    server_.reset();  // The next one listens at the same place.
    server_ = std::make_shared<live::Server>(options_, std::move(callbacks));
    return std::async(std::launch::async, [server = server_] { return server->run(); });
  }

  [[nodiscard]] WorkerOptions client(std::uint32_t rank = 0) const {
    return {.server = options_.listen,
            .token = kScriptToken,
            .worker = rank,
            .rejoin_for = std::chrono::seconds(0)};
  }

  // Pushes gradients of ones; `before` each push, and `after` the run.
  void train(const ScriptSettings& settings,
             std::uint32_t rank = 0,
             const std::function<void(Worker&, const Minibatch&)>& before = nullptr,
             const std::function<void(Worker&)>& after = nullptr) const {
    Worker worker(client(rank));
    worker.join(
        settings.groups.empty() ? one_group() : two_numbers(),
        [] {
          return std::vector<float>{0, 0};
        },
        kScriptExamples,
        settings);
    while (const auto minibatch = worker.next()) {
      if (before) {
        before(worker, *minibatch);
      }
      worker.push({1, 1}, 1.0);
    }
    if (after) {
      after(worker);
    }
  }
  // The only snapshot that an evaluator gets, which reports a quarter right, and no loss.
  [[nodiscard]] std::uint64_t measured_version() const {
    Evaluator evaluator(client());
    evaluator.join(two_numbers());
    const auto snapshot = evaluator.next();
    if (!snapshot) {
      ADD_FAILURE() << "there is no snapshot";
      return 0;
    }
    evaluator.report(0.25, std::nullopt);
    EXPECT_FALSE(evaluator.next());
    return snapshot->version;
  }

  live::ServerOptions options_;
  std::shared_ptr<live::Server> server_;  // The last one, which its run() holds too.

 private:
  const TemporaryDirectory folder_;
};

ScriptSettings momentum_and_sgd() {
  return {.groups = {{.method = Method::kMomentum, .rate = 0.5, .momentum = 0.5},
                     {.method = Method::kSgd, .rate = 0.25, .weight_decay = 1.0}}};
}

TEST_F(ScriptTest, EachGroupIsSteppedByItsOwnSettings) {
  auto run = serve();
  train(momentum_and_sgd());
  // a: v = 1, 1.5; w = -0.5, -1.25. b: g + w = 1, 0.75; w = -0.25, -0.4375.
  EXPECT_EQ(run.get().weights, (std::vector<float>{-1.25F, -0.4375F}));
}

TEST_F(ScriptTest, ABufferIsTheMeanOfWhatWorkersPushAndReachesTheEvaluator) {
  auto run = serve();
  train({.groups = {{.rate = 0.5}, {.method = Method::kAverage, .momentum = 0.5}}});
  // b: 0.5 * 0 + 0.5 * 1, then 0.5 * 0.5 + 0.5 * 1.
  EXPECT_EQ(run.get().weights, (std::vector<float>{-1, 0.75F}));
}

TEST_F(ScriptTest, ABufferMayBeTheNewestThatAWorkerHasPushedUnclipped) {
  options_.shard.clip_norm = 0.5;
  auto run = serve();
  train({.groups = {{.rate = 0.5}, {.method = Method::kNewest}}});
  EXPECT_EQ(run.get().weights, (std::vector<float>{-0.5F, 1}));
}

TEST_F(ScriptTest, ATensorThatAWorkersGradientLacksStaysAsItIs) {
  auto run = serve();
  const auto lacks = [](Worker& worker, const Minibatch& minibatch) {
    worker.without(minibatch.version == 0 ? std::vector<std::uint32_t>{1}
                                          : std::vector<std::uint32_t>{});
  };
  train({.groups = {{.rate = 0.5}, {.rate = 0.25}}}, 0, lacks);
  EXPECT_EQ(run.get().weights, (std::vector<float>{-1, -0.25F}));
}

TEST_F(ScriptTest, AGradientWithoutATensorThatTheOptimizerNeedsIsRefused) {
  auto run = serve();
  const auto lacks = [](std::vector<std::uint32_t> tensors) {
    return [tensors](Worker& worker, const Minibatch&) { worker.without(tensors); };
  };
  const ScriptSettings two{.groups = {{.rate = 0.5}, {.method = Method::kNewest}}};
  EXPECT_EQ(thrown_by([&] { train(two, 0, lacks({2})); }),
            "2: without: there is no tensor 2, join() had 2");
  EXPECT_EQ(thrown_by([&] { train(two, 0, lacks({1})); }),
            "1: push: the gradient has no numbers for some tensors, and the server's optimizer "
            "needs those of all");
  train(two);
  EXPECT_EQ(run.get().code, ExitCode::kDone);
}

TEST_F(ScriptTest, ConstantsOfTheWorkerWithTheFirstWeightsReachAllOthers) {
  options_.coordinator.workers = 2;
  options_.expects_evaluator = true;
  const std::string bytes = std::string("exact\0bytes ", 12) + std::string(5'000'000, '\xff');
  std::string told;
  auto run = serve({.constants = [&](std::string_view came) { told = came; }});
  std::string measured;
  std::string other;
  const auto constants_of = [](std::string& found) {
    return [&found](Worker& worker, const Minibatch&) { found = worker.constants(); };
  };
  std::jthread evaluates([&] {
    Evaluator evaluator(client());
    evaluator.join(two_numbers());
    if (evaluator.next()) {
      measured = evaluator.constants();
      evaluator.report(0.25, std::nullopt);
      EXPECT_FALSE(evaluator.next());
    }
  });
  std::jthread late([&] {
    train({.constants = [] { return std::string("another's"); }}, 1, constants_of(other));
  });
  std::string own;
  train({.constants = [&] { return bytes; }}, 0, constants_of(own));
  late.join();
  evaluates.join();
  EXPECT_EQ(run.get().code, ExitCode::kDone);
  EXPECT_TRUE(own == bytes && other == bytes && measured == bytes && told == bytes)
      << own.size() << ", " << other.size() << ", " << measured.size() << ", " << told.size();
}

TEST_F(ScriptTest, TheFirstWeightsAreRankZerosThoughAnotherCameFirst) {
  options_.coordinator.workers = 2;
  std::promise<void> there;
  auto run = serve({.awaits = [&, told = false](const std::string& line) mutable {
    if (line.starts_with("the run has not begun: 1 of 2") && !std::exchange(told, true)) {
      there.set_value();
    }
  }});
  std::jthread other([&] {
    Worker worker(client(1));
    const auto weights = [] {
      ADD_FAILURE() << "worker 1 was asked";
      return std::vector<float>{1, 1};
    };
    worker.join(one_group(), weights, kScriptExamples);
    while (worker.next()) {
      worker.push({0, 0}, 1.0);
    }
  });
  there.get_future().wait();
  Worker worker(client(0));
  worker.join(
      one_group(),
      [] {
        return std::vector<float>{5, 6};
      },
      kScriptExamples);
  while (worker.next()) {
    worker.push({0, 0}, 1.0);
  }
  other.join();
  EXPECT_EQ(run.get().weights, (std::vector<float>{5, 6}));
}

TEST_F(ScriptTest, WithoutRankZeroTheFirstWeightsAreAnothers) {
  options_.coordinator.workers = 2;
  options_.coordinator.patience = std::chrono::milliseconds(200);
  std::vector<std::string> warned;
  auto run = serve({.warned = [&](const std::string& line) { warned.push_back(line); }});
  Worker worker(client(1));
  worker.join(
      one_group(),
      [] {
        return std::vector<float>{5, 6};
      },
      kScriptExamples);
  while (worker.next()) {
    worker.push({0, 0}, 1.0);
  }
  EXPECT_EQ(run.get().weights, (std::vector<float>{5, 6}));
  ASSERT_FALSE(warned.empty());
  EXPECT_EQ(warned.front(),
            "worker 0 has not come in 0 s: the run begins with another worker's weights");
}

TEST_F(ScriptTest, RatesChangeWithTheReportOfAnEpoch) {
  auto run = serve();
  train({.groups = {{.rate = 0.5}, {.rate = 0.25}}},
        0,
        [](Worker& worker, const Minibatch& minibatch) {
          if (minibatch.epoch == 1) {
            worker.set_rates(1, {0.125, 1.0});
          }
        });
  EXPECT_EQ(run.get().weights, (std::vector<float>{-0.625F, -1.25F}));
}

TEST_F(ScriptTest, OtherRatesForTheSameEpochAreAnError) {
  options_.coordinator.workers = 2;
  options_.coordinator.limits.epochs = 1000;
  options_.policy = Spec::parse("async");
  auto run = serve();
  const auto works = [this](std::uint32_t rank) {
    return thrown_by([&] {
      train({.groups = {{.rate = 0.5}, {.rate = 0.25}}}, rank, [rank](Worker& worker, const auto&) {
        worker.set_rates(7, {0.125, rank == 0 ? 0.5 : 1.0});
      });
    });
  };
  auto first = std::async(std::launch::async, [&] { return works(0); });
  const std::string second = works(1);
  const std::string both = first.get() + second;
  EXPECT_TRUE(both.starts_with("4: rates: epoch or update 7 has 0.125, ")) << both;
  EXPECT_NE(both.find(" first: a schedule must be the same on every worker. "), both.npos) << both;
  EXPECT_EQ(run.get().code, ExitCode::kDone) << "the other one goes on";
}

TEST_F(ScriptTest, TheScriptsEpochsEndTheRunIfTheyMay) {
  options_.script.epochs = true;
  auto run = serve();
  train({.epochs = 5});
  EXPECT_EQ(run.get().statistics.updates, 5U);
  options_.script.epochs = false;
  auto other = serve();
  train({.epochs = 5});
  EXPECT_EQ(other.get().statistics.updates, 2U);
}

TEST_F(ScriptTest, AnOptionOfTheServerConflictsWithTheScriptsOptimizer) {
  options_.script.conflict = "--optimizer adam";
  auto run = serve();
  EXPECT_EQ(thrown_by([this] { train(momentum_and_sgd()); }),
            "4: the script brings an optimizer, momentum:mu=0.5, the first of 2 parameter groups, "
            "and the server has --optimizer adam; remove one");
  server_->stop(ExitCode::kFailure, "nobody else comes");
  EXPECT_EQ(run.get().statistics.updates, 0U);
}

TEST_F(ScriptTest, AnOptimizerThatIsWrongIsRefusedByTheServer) {
  auto run = serve();
  EXPECT_EQ(thrown_by([this] {
              train({.groups = {{.method = Method::kMomentum}, {.method = Method::kAdam}}});
            }),
            "4: the script's optimizer: the parameter groups take momentum:mu=0.9 and "
            "adam:beta1=0.9,beta2=0.999,epsilon=1e-08, which do not go together");
  server_->stop(ExitCode::kFailure, "nobody else comes");
  EXPECT_EQ(run.get().statistics.updates, 0U);
}

TEST_F(ScriptTest, WrongSettingsAreRefusedBeforeAnythingIsSent) {
  EXPECT_EQ(thrown_by([this] {
              train({.groups = {{.rate = -1.0}, {}}});
            }),
            "2: join: a parameter group's rate is -1.000000; it is finite and at least 0");
  EXPECT_EQ(thrown_by([this] { train({.groups = {{}}}); }),
            "2: join: parameter 'b' is of group 1, and there are 1");
  EXPECT_EQ(thrown_by([this] {
              train({.groups = {{.method = Method::kByServer}, {}}});
            }),
            "2: join: a group that the server's own optimizer steps goes only with groups of "
            "buffers");
  Worker worker(client());
  EXPECT_EQ(thrown_by([&] { worker.set_rates(0, {1.0}); }), "2: set_rates: join() comes first");
}

TEST_F(ScriptTest, AnEvaluatorMeasuresSnapshotsUntilTheRunIsOver) {
  options_.starts_evaluator = true;
  options_.coordinator.evaluate_every = 1;
  std::promise<void> wanted;
  std::vector<server::Evaluation> found;
  live::ServerCallbacks callbacks;
  callbacks.wants_evaluator = [&] { wanted.set_value(); };
  callbacks.evaluated = [&](const server::Evaluation& one) { found.push_back(one); };
  auto run = serve(std::move(callbacks));
  auto worker = std::async(std::launch::async, [this] {
    train({.groups = {{.rate = 0.5}, {.rate = 0.25}}, .evaluator = true});
  });
  wanted.get_future().wait();  // The run does not begin before the evaluator is there.
  Evaluator evaluator(client());
  EXPECT_EQ(thrown_by([&] { (void)evaluator.next(); }), "2: next: join() comes first");
  evaluator.join(two_numbers());
  EXPECT_EQ(thrown_by([&] { evaluator.report(0.5, 1.0); }),
            "2: report: there is no snapshot to report on; call next() first");
  std::vector<std::uint64_t> versions;
  while (const auto snapshot = evaluator.next()) {
    versions.push_back(snapshot->version);
    EXPECT_EQ(snapshot->weights[0], -0.5F * static_cast<float>(snapshot->version));
    EXPECT_EQ(thrown_by([&] { (void)evaluator.next(); }),
              "2: next: the last snapshot was not reported; call report() first");
    EXPECT_EQ(thrown_by([&] { evaluator.report(1.5, 1.0); }),
              "2: report: the accuracy is 1.500000; it is a share from 0 to 1");
    evaluator.report(0.5, static_cast<double>(snapshot->version));
  }
  worker.get();
  const live::RunResult result = run.get();
  ASSERT_FALSE(versions.empty());
  EXPECT_EQ(versions.back(), result.statistics.updates) << "the last weights are measured";
  ASSERT_EQ(found.size(), versions.size());
  EXPECT_EQ(found.back().loss, static_cast<double>(result.statistics.updates));
}

TEST_F(ScriptTest, AServerThatStartsNoEvaluatorSaysHowToStartOne) {
  std::vector<std::string> said;
  live::ServerCallbacks callbacks;
  callbacks.warned = [&](const std::string& text) { said.push_back(text); };
  auto run = serve(std::move(callbacks));
  train({.groups = {{.rate = 0.5}, {.rate = 0.25}}, .evaluator = true});
  (void)run.get();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said.front(),
            "a worker's script evaluates, and this server starts no evaluator: nothing is measured "
            "until there is one; run the script once more with OUTPACE_ROLE=evaluator, "
            "OUTPACE_SERVER=" +
                client().server + " and OUTPACE_TOKEN_FILE");
}

TEST_F(ScriptTest, TheEndOfTheRunWaitsForAnEvaluatorThatWasAskedForLate) {
  options_.starts_evaluator = true;
  std::promise<void> wanted;
  live::ServerCallbacks callbacks;
  callbacks.wants_evaluator = [&] { wanted.set_value(); };
  auto run = serve(std::move(callbacks));
  train({}, 0, [](Worker& worker, const auto&) { worker.ask_for_evaluator(); });
  wanted.get_future().wait();
  EXPECT_EQ(measured_version(), 2U);
  const live::RunResult result = run.get();
  EXPECT_EQ(result.evaluations.back().accuracy, 0.25);
  EXPECT_FALSE(result.evaluations.back().loss);
}

TEST_F(ScriptTest, AnEvaluatorWithoutATestLossIsNewsIfThePolicyWaitsForOne) {
  options_.starts_evaluator = true;
  options_.policy = Spec::parse("switch(sync until test-loss<1 then async)");
  std::promise<void> wanted;
  std::vector<std::string> said;
  live::ServerCallbacks callbacks;
  callbacks.wants_evaluator = [&] { wanted.set_value(); };
  callbacks.warned = [&](const std::string& line) { said.push_back(line); };
  auto run = serve(std::move(callbacks));
  train({}, 0, [](Worker& worker, const auto&) { worker.ask_for_evaluator(); });
  wanted.get_future().wait();
  EXPECT_EQ(measured_version(), 2U);
  (void)run.get();
  EXPECT_EQ(said,
            (std::vector<std::string>{
                "the evaluator reports no test loss, and --policy switch(sync until test-loss<1 "
                "then async) waits for one: report it beside the accuracy"}));
}

TEST_F(ScriptTest, AnEvaluatorMayBeAskedForWhenTheRunIsOver) {
  options_.starts_evaluator = true;
  for (const bool has_left : {false, true}) {
    std::promise<void> wanted;
    live::ServerCallbacks callbacks;
    callbacks.wants_evaluator = [&] { wanted.set_value(); };
    auto run = serve(std::move(callbacks));
    train({}, 0, nullptr, [&](Worker& worker) {
      if (has_left) {
        worker.leave();
      }
      worker.ask_for_evaluator();
    });
    wanted.get_future().wait();
    EXPECT_EQ(measured_version(), 2U);
    EXPECT_EQ(run.get().evaluations.size(), 1U);
  }
}

TEST_F(ScriptTest, TheEndOfTheRunWaitsForNobodyWhoseWorkersHaveEnded) {
  options_.starts_evaluator = true;
  auto run = serve();
  train({});
  const auto begun = std::chrono::steady_clock::now();
  server_->nobody_will_ask();
  EXPECT_EQ(run.get().evaluations.size(), 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4)) << "5 without";
}

TEST_F(ScriptTest, ACheckpointKeepsTheScript) {
  options_.coordinator.checkpoint_every = {.updates = 1, .time = {}};
  const auto kept = std::make_shared<MemoryArchive>();
  live::ServerCallbacks callbacks;
  bool taken = false;
  callbacks.checkpoint = [&](Version version, const std::function<void(Archive&)>& keep) {
    if (version == Version{1} && !std::exchange(taken, true)) {
      keep(*kept);
    }
  };
  auto run = serve(std::move(callbacks));
  const ScriptSettings settings = momentum_and_sgd();
  train(settings);
  const std::vector<float> whole = run.get().weights;
  ASSERT_TRUE(taken);

  options_.coordinator.generation = 2;
  kept->rewind();
  options_.resumed = kept;
  ScriptSettings other = settings;
  other.groups[0].momentum = 0.25;
  auto again = serve();
  EXPECT_EQ(thrown_by([&] { train(other); }),
            "4: this worker's script brings momentum:mu=0.25, the first of 2 parameter groups, the "
            "job's momentum:mu=0.5, the first of 2 parameter groups: they must be the same");
  train(settings);
  EXPECT_EQ(again.get().weights, whole);
}

}  // namespace
}  // namespace outpace
