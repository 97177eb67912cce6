#include "record/recorded_run_reader.h"

#include <chrono>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"
#include "record/decision_log.h"

namespace outpace::record {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

class RecordedRunReader : public testing::Test {
 protected:
  // Two workers of async, with 3 of 4 examples in the last gradient of worker 1.
  void write_log(const std::string& policy = "async", std::uint32_t local_steps = 0) {
    DecisionLogWriter log(
        directory_ / "decisions.jsonl",
        {.policy = policy, .workers = 2, .balance = {}, .local_steps = local_steps});
    for (const std::uint32_t worker : {0U, 1U}) {
      log.append(Time{}, policy::WorkerJoined{.worker = WorkerId{worker}}, {});
    }
    accept(log, 100, {.worker = 0, .release = 1, .examples = 4, .runtime = 100});
    accept(log, 250, {.worker = 1, .release = 2, .examples = 3, .runtime = 150});
    log.append(
        at(300), policy::WorkerLeft{.worker = WorkerId{1}, .how = policy::Departure::kDead}, {});
    more(log);
    log.close();
  }

  struct Arrival {
    std::uint32_t worker;
    std::uint64_t release;
    std::uint32_t examples;
    int runtime;  // Milliseconds.
  };
  static void accept(DecisionLogWriter& log, int now, const Arrival& arrival) {
    const policy::GradientArrived event{.worker = WorkerId{arrival.worker},
                                        .release = Sequence{arrival.release},
                                        .computed_on = Version{0},
                                        .examples = arrival.examples,
                                        .nominal = 4,
                                        .partial = arrival.examples < 4,
                                        .runtime = milliseconds(arrival.runtime)};
    log.append(at(now),
               event,
               {.actions = {policy::Accept{.worker = WorkerId{arrival.worker},
                                           .release = Sequence{arrival.release},
                                           .weight = 1.0},
                            policy::Commit{}},
                .reason = {}});
  }
  static Time at(int milliseconds_since_begin) {
    return Time{milliseconds(milliseconds_since_begin)};
  }

  [[nodiscard]] policy::FoundRun read() const {
    return read_recorded_run(directory_.path().string());
  }

  TemporaryDirectory directory_;
  std::function<void(DecisionLogWriter&)> more = [](DecisionLogWriter&) {};
};

TEST_F(RecordedRunReader, FindsIterationsAbsencesAndWhatWasCommitted) {
  write_log();
  const policy::RecordedRun run = read().run;
  EXPECT_EQ(run.policy, "async");
  EXPECT_EQ(run.batch, 4U);
  EXPECT_EQ(run.examples, 7U);
  EXPECT_EQ(run.last_commit, at(250));
  ASSERT_EQ(run.workers.size(), 2U);
  ASSERT_EQ(run.workers[0].iterations.size(), 1U);
  EXPECT_EQ(run.workers[0].iterations[0].begin, at(0));
  EXPECT_EQ(run.workers[0].iterations[0].end, at(100));
  EXPECT_TRUE(run.workers[0].absences.empty());
  const policy::RecordedIteration& partial = run.workers[1].iterations.at(0);
  EXPECT_EQ(partial.begin, at(100));
  EXPECT_DOUBLE_EQ(partial.share, 0.75);
  EXPECT_TRUE(partial.partial);
  ASSERT_EQ(run.workers[1].absences.size(), 1U);
  EXPECT_EQ(run.workers[1].absences[0].from, at(300));
  EXPECT_FALSE(run.workers[1].absences[0].until);
}

TEST_F(RecordedRunReader, EndsAnAbsenceWhenTheWorkerJoinsAgain) {
  more = [](DecisionLogWriter& log) {
    log.append(at(900), policy::WorkerJoined{.worker = WorkerId{1}}, {});
  };
  write_log();
  EXPECT_EQ(read().run.workers[1].absences.at(0).until, at(900));
}

TEST_F(RecordedRunReader, TakesTheOptimizerThatAScriptBrought) {
  write_log();
  EXPECT_FALSE(read().run.given.scale_invariant);
  more = [](DecisionLogWriter& log) {
    log.append(at(400), policy::Measured{policy::Measure::kScaleInvariant, 1.0, Version{0}}, {});
  };
  write_log();
  EXPECT_TRUE(read().run.given.scale_invariant);
}

TEST_F(RecordedRunReader, NotesWhatTheRecordDoesNotSay) {
  more = [](DecisionLogWriter& log) {
    log.append(
        at(400),
        policy::ReleaseEnded{
            .worker = WorkerId{0}, .release = Sequence{3}, .how = policy::Ending::kAbandoned},
        {});
    log.append(at(500), policy::PolicySet{.policy = "sync"}, {});
  };
  write_log();
  EXPECT_EQ(read().notes,
            (std::vector<std::string>{
                "1 mini-batches were cancelled; their full runtimes are unknown, so slow workers "
                "look faster than they were"}));
  EXPECT_EQ(read().run.policy, "switch(async until seconds>0.500 then sync)");
  const auto log = directory_ / "decisions.jsonl";
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 3);
  EXPECT_EQ(read().notes.front(), "the last line of the log is cut off, and is ignored");
}

// Two workers, of which the second is away from a third to two thirds of the run.
void write_long(const std::filesystem::path& path, int gradients) {
  DecisionLogWriter log(path, {.policy = "async", .workers = 2});
  policy::Decision decision;
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    log.append(Time{}, policy::WorkerJoined{.worker = WorkerId{worker}}, {});
  }
  for (int i = 1; i <= gradients; ++i) {
    const bool away = i > gradients / 3 && i <= 2 * gradients / 3;
    const WorkerId worker{away || i % 2 == 0 ? 0U : 1U};
    if (i == gradients / 3 + 1) {
      log.append(Time{100ms * i},
                 policy::WorkerLeft{.worker = WorkerId{1}, .how = policy::Departure::kDead},
                 {});
    } else if (i == 2 * gradients / 3 + 1) {
      log.append(Time{100ms * i}, policy::WorkerJoined{.worker = WorkerId{1}}, {});
    }
    const Sequence release{static_cast<std::uint64_t>(i)};
    decision.actions = {policy::Accept{worker, release, 1.0}, policy::Commit{}};
    log.append(Time{100ms * i},
               policy::GradientArrived{.worker = worker,
                                       .release = release,
                                       .examples = 4,
                                       .nominal = 4,
                                       .partial = false,
                                       .runtime = 100ms},
               decision);
  }
  log.close();
}

TEST_F(RecordedRunReader, ReadsStretchesOfALongRecord) {
  constexpr int kGradients = 30'000;
  write_long(directory_ / "decisions.jsonl", kGradients);
  put(directory_ / "summary.json", R"({"simulated_seconds": 1, "examples_per_second": 41.5})");
  const policy::FoundRun all = read_recorded_run(directory_.path().string(), kGradients);
  EXPECT_EQ(all.run.examples, std::uint64_t{4} * kGradients);
  EXPECT_FALSE(all.run.measured);
  const policy::FoundRun some = read_recorded_run(directory_.path().string(), kGradients / 10);
  EXPECT_EQ(some.notes.back(), "a sample of 3000 gradients of the record was read");
  EXPECT_DOUBLE_EQ(some.run.examples_per_second(), 41.5);
  EXPECT_NEAR(to_seconds(some.run.last_commit), 300.0, 10.0);
  EXPECT_NEAR(static_cast<double>(some.run.examples), 4.0 * 3000, 4.0 * 30);
  // The second worker is away in three of the ten stretches.
  double away = 0.0;
  for (const policy::Absence& absence : some.run.workers[1].absences) {
    away += to_seconds(absence.until.value_or(some.run.last_commit) - absence.from);
  }
  EXPECT_NEAR(away, 90.0, 5.0);
  EXPECT_TRUE(some.run.workers[0].absences.empty());
  for (const policy::RecordedWorker& worker : some.run.workers) {
    for (const policy::RecordedIteration& one : worker.iterations) {
      EXPECT_EQ(one.end - one.begin, 100ms);
    }
  }
}

TEST_F(RecordedRunReader, ReadsMoreOfMoreWorkersUpToALimit) {
  EXPECT_EQ(sampled_gradients(8), 20'000U);
  EXPECT_EQ(sampled_gradients(158), 79'000U);
  EXPECT_EQ(sampled_gradients(2000), 100'000U);
  write_long(directory_ / "decisions.jsonl", 30'000);  // From two workers.
  EXPECT_EQ(read().notes.back(), "a sample of 20000 gradients of the record was read");
}

TEST_F(RecordedRunReader, ReadsSeveralServersAsOneRun) {
  const auto earlier = directory_ / "earlier" / "1";
  std::filesystem::create_directories(earlier);
  write_long(earlier / "decisions.jsonl", 300);
  DecisionLogWriter log(directory_ / "decisions.jsonl",
                        {.policy = "async",
                         .workers = 2,
                         .goes_on = GoesOn{.generation = 2, .from = at(20'000), .version = {}}});
  policy::Decision decision;
  log.append(at(21'000), policy::WorkerJoined{.worker = WorkerId{0}}, {});
  decision.actions = {policy::Accept{WorkerId{0}, Sequence{1}, 1.0}, policy::Commit{}};
  log.append(at(22'000),
             policy::GradientArrived{.worker = WorkerId{0},
                                     .release = Sequence{1},
                                     .examples = 4,
                                     .nominal = 4,
                                     .partial = false,
                                     .runtime = 1s},
             decision);
  log.close();
  const policy::RecordedRun run = read().run;
  EXPECT_EQ(run.examples, 4U * 200 + 4U) << "what was lost does not count";
  EXPECT_EQ(run.last_commit, at(22'000));
  EXPECT_EQ(run.workers[0].absences.at(0).from, at(20'000));
  EXPECT_EQ(run.workers[0].absences.at(0).until, at(21'000));
  // Alone, the newer log is as long as what it has.
  std::filesystem::remove(earlier / "decisions.jsonl");
  const policy::FoundRun late = read();
  EXPECT_EQ(late.run.last_commit, at(2000));
  EXPECT_EQ(late.notes.front(),
            "the record begins with server 2 of the run: those before kept no decisions");
}

TEST_F(RecordedRunReader, TakesCommunicationFromTheSummaryUnlessWorkersWereDelayed) {
  write_log();
  put(directory_ / "summary.json",
      R"({"workers_detail": [{"compute_seconds": 0.06}, {"compute_seconds": 0.1}]})");
  put(directory_ / "config.toml", "policy = \"async\"\ndelays-by = \"time\"\n");
  const policy::FoundRun found = read();
  EXPECT_NEAR(*found.run.workers[0].communication_seconds, 0.04, 1e-12);
  EXPECT_NEAR(*found.run.workers[1].communication_seconds, 0.05, 1e-12);
  EXPECT_EQ(found.notes,
            std::vector<std::string>{
                "the record has no processor times; if workers share processors, waiting for each "
                "other counts as computing"});
  for (const char* slowed : {"delays = \"d.csv\"\n", "slow = \"worker=1,factor=2\"\n"}) {
    put(directory_ / "config.toml", slowed);
    EXPECT_FALSE(read().run.workers[0].communication_seconds) << slowed;
  }
}

TEST_F(RecordedRunReader, TakesTheNoiseScaleFromTheSummary) {
  write_log();
  put(directory_ / "config.toml", "");
  put(directory_ / "summary.json", R"({"gradient_noise_scale": 24.5})");
  EXPECT_DOUBLE_EQ(read().run.noise_scale.value(), 24.5);
  put(directory_ / "summary.json", R"({"gradient_noise_scale": null})");
  EXPECT_FALSE(read().run.noise_scale.has_value());
}

TEST_F(RecordedRunReader, TakesNoPauseOfAWorkerForCommunication) {
  more = [](DecisionLogWriter& log) {
    accept(log, 400, {.worker = 0, .release = 3, .examples = 4, .runtime = 100});
    accept(log, 1500, {.worker = 0, .release = 4, .examples = 4, .runtime = 1000});
  };
  write_log();
  put(directory_ / "summary.json",
      R"({"workers_detail": [{"compute_seconds": 0.18}, {"compute_seconds": 0.1}]})");
  put(directory_ / "config.toml", "");
  EXPECT_NEAR(*read().run.workers[0].communication_seconds, 0.04, 1e-12);
}

TEST_F(RecordedRunReader, NotesAGapAndLeavesOutWhatIsOfTheWholeRun) {
  write_log();
  put(directory_ / "summary.json",
      R"({"workers_detail": [{"compute_seconds": 0.06}, {"compute_seconds": 0.1}]})");
  put(directory_ / "config.toml", "");
  EXPECT_TRUE(read().run.workers[0].communication_seconds);
  put(directory_ / "decisions.jsonl",
      contents(directory_ / "decisions.jsonl") + kDecisionGap + "\n");
  const policy::FoundRun found = read();
  EXPECT_EQ(found.run.examples, 7U);
  EXPECT_FALSE(found.run.workers[0].communication_seconds);
  EXPECT_NE(found.notes.front().find("decisions.jsonl:7: a gap: decisions from 0.300 s on"),
            std::string::npos)
      << found.notes.front();
}

TEST_F(RecordedRunReader, TakesProcessorTimesFromTheSummary) {
  write_log();
  put(directory_ / "summary.json",
      R"({"processors": {"cores": 2, "server_seconds_a_gradient": 0.001,)"
      R"( "worker_seconds_an_iteration": [0.02, null]}})");
  put(directory_ / "config.toml", "");
  const policy::FoundRun found = read();
  EXPECT_EQ(found.run.cores, 2U);
  EXPECT_DOUBLE_EQ(found.run.server_seconds, 0.001);
  EXPECT_DOUBLE_EQ(*found.run.workers[0].processor_seconds, 0.02);
  EXPECT_FALSE(found.run.workers[1].processor_seconds);
  EXPECT_TRUE(found.notes.empty());
}

TEST_F(RecordedRunReader, TakesTheMeanOfPhasesAndNoProcessorTimes) {
  more = [](DecisionLogWriter& log) {
    accept(log, 400, {.worker = 0, .release = 3, .examples = 4, .runtime = 100});
    accept(log, 460, {.worker = 0, .release = 4, .examples = 1, .runtime = 40});
  };
  write_log("async", /*local_steps=*/4);
  put(directory_ / "summary.json",
      R"({"workers_detail": [{"compute_seconds": 0.18}, {"compute_seconds": 0.1}],)"
      R"( "processors": {"cores": 2, "server_seconds_a_gradient": 0.001,)"
      R"( "worker_seconds_an_iteration": [0.02, null]}})");
  put(directory_ / "config.toml", "");
  const policy::FoundRun found = read();
  EXPECT_EQ(found.run.given.local_steps, 4U);
  EXPECT_EQ(found.run.cores, 0U);
  EXPECT_NEAR(*found.run.workers[0].communication_seconds, 0.08 - 0.06, 1e-12);
  EXPECT_EQ(found.notes.front(),
            "processor times do not tell of phases of local steps; if workers share processors, "
            "waiting for each other counts as computing");
}

TEST_F(RecordedRunReader, SaysThatStepsAheadAreNotInTheRecord) {
  write_log("async", /*local_steps=*/4);
  put(directory_ / "config.toml", "steps-ahead = true\n");
  ASSERT_EQ(read().notes.size(), 1U);
  EXPECT_NE(read().notes.front().find("its workers stepped ahead: "), std::string::npos);
}

TEST_F(RecordedRunReader, SaysThatAnswersKeepPackedBytes) {
  write_log("async", /*local_steps=*/4);
  put(directory_ / "config.toml", "compress = \"int8\"\ncompress-weights = \"delta\"\n");
  ASSERT_EQ(read().notes.size(), 1U);
  EXPECT_EQ(read().notes.front(),
            "its numbers were packed, --compress int8 --compress-weights delta, and every answer "
            "keeps their bytes; `outpace predict` knows others");
  put(directory_ / "config.toml", "compress = \"none\"\n");
  EXPECT_TRUE(read().notes.empty());
}

TEST_F(RecordedRunReader, RefusesARunThatCommittedNothing) {
  DecisionLogWriter(directory_ / "decisions.jsonl",
                    {.policy = "async", .workers = 2, .balance = {}})
      .close();
  EXPECT_NE(refusal_of([&] { (void)read(); }).find("nothing was committed in this run"),
            std::string::npos);
}

TEST_F(RecordedRunReader, RefusesALogThatContradictsItself) {
  more = [](DecisionLogWriter& log) {
    log.append(
        at(600),
        policy::TimerFired{},
        {.actions = {policy::Accept{.worker = WorkerId{0}, .release = Sequence{9}, .weight = 1.0}},
         .reason = {}});
  };
  write_log();
  EXPECT_NE(refusal_of([&] {
              (void)read();
            }).find("decisions.jsonl:7: a gradient is accepted that did not arrive"),
            std::string::npos);
}

TEST_F(RecordedRunReader, RefusesASummaryThatIsNone) {
  write_log();
  put(directory_ / "summary.json", "[1]");
  EXPECT_NE(refusal_of([&] { (void)read(); }).find("summary.json: not the summary of a run"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::record
