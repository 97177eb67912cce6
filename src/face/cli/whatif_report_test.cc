#include "cli/whatif_report.h"

#include <chrono>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/refusal_test.h"

namespace outpace::cli {
namespace {

using std::chrono::milliseconds;

// Rounds of sync with four workers: three take 100 ms and the last takes 400 ms.
policy::FoundRun uneven_run() {
  constexpr int kRounds = 50;
  policy::FoundRun found;
  found.run.policy = "sync";
  found.run.batch = 4;
  found.run.workers.resize(4);
  for (int round = 0; round < kRounds; ++round) {
    const Time begin{milliseconds(400 * round)};
    for (std::size_t worker = 0; worker < 4; ++worker) {
      found.run.workers[worker].iterations.push_back(
          {.begin = begin, .end = begin + milliseconds(worker == 3 ? 400 : 100)});
    }
  }
  found.run.last_commit = Time{milliseconds(400 * kRounds)};
  found.run.examples = 16 * kRounds;
  found.notes = {"a note of the record"};
  return found;
}

job::WhatifJob job_of(const std::string& run) {
  job::WhatifJob job;
  job.run = run;
  return job;
}

std::vector<std::string> questions_of(const WhatIfReport& report) {
  std::vector<std::string> questions;
  for (const throughput::Answer& answer : report.answers) {
    questions.push_back(answer.question);
  }
  return questions;
}

TEST(WhatIfReport, AsksByDefaultWithoutStragglersUnderOtherPoliciesAndWithMoreWorkers) {
  const WhatIfReport report = report_whatif(uneven_run(), job_of("runs/x"));
  EXPECT_EQ(questions_of(report),
            (std::vector<std::string>{"as it was",
                                      "all at the median",
                                      "without worker 3",
                                      "policy backup:cutoff=3",
                                      "policy async",
                                      "with 8 workers"}));
  EXPECT_NEAR(report.measured, 40.0, 1e-9);
  EXPECT_NEAR(report.replayed, 40.0, 1e-6);
  EXPECT_NEAR(report.answers[1].ratio, 4.0, 1e-6);
  EXPECT_NEAR(report.answers[2].ratio, 3.0, 1e-6);
}

TEST(WhatIfReport, AsksWhatTheJobAsksAndNothingElse) {
  job::WhatifJob job = job_of("runs/x");
  job.without = {0};
  job.policies = {"async"};
  job.workers = {2};
  EXPECT_EQ(
      questions_of(report_whatif(uneven_run(), job)),
      (std::vector<std::string>{
          "as it was", "all at the median", "without worker 0", "policy async", "with 2 workers"}));
  job.policies = {"backup:cutoff=5"};
  EXPECT_NE(refusal_of([&] { (void)report_whatif(uneven_run(), job); }).find("cutoff is '5'"),
            std::string::npos);
}

TEST(WhatIfReport, NotesAWorkerThatFinishedNothing) {
  policy::FoundRun found = uneven_run();
  found.run.workers[1].iterations.clear();
  const WhatIfReport report = report_whatif(std::move(found), job_of("runs/x"));
  EXPECT_EQ(report.notes,
            (std::vector<std::string>{
                "a note of the record",
                "worker 1 finished nothing: its runtimes are unknown, and it counts as absent"}));
}

TEST(WhatIfReport, IsTextForPeople) {
  const std::string text = report_text(report_whatif(uneven_run(), job_of("runs/x")));
  EXPECT_TRUE(
      text.starts_with("runs/x: sync on 4 workers: 40.0 examples/s measured, 40.0 replayed "
                       "(+0.0 %)\n\n"))
      << text;
  EXPECT_NE(text.find("without worker 3"), std::string::npos);
  EXPECT_NE(text.find("time lost: 75.0 % to worker 3\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("note: a note of the record\n")) << text;
}

TEST(WhatIfReport, NamesTheSlowestWorkerFirst) {
  WhatIfReport report = report_whatif(uneven_run(), job_of("runs/x"));
  report.lost = {{.worker = WorkerId{1}, .share = 0.006},
                 {.worker = WorkerId{2}, .share = 0.004},
                 {.worker = WorkerId{3}, .share = 0.628},
                 {.worker = WorkerId{5}, .share = 0.628}};
  EXPECT_NE(report_text(report).find(
                "time lost: 62.8 % to worker 3, 62.8 % to worker 5, 0.6 % to worker 1\n"),
            std::string::npos)
      << report_text(report);
}

TEST(WhatIfReport, SaysWhatIsLearntWhereTheNoiseIsKnown) {
  policy::FoundRun found = uneven_run();
  found.run.noise_scale = 8.0;  // Two gradients.
  found.run.reached = {.what = "84.0 %", .seconds = 36.0};
  const WhatIfReport report = report_whatif(std::move(found), job_of("runs/x"));
  EXPECT_NE(report_text(report).find(
                "3.00 x (3.00 to 3.00), 120/s; progress 3.60 x, 84.0 % after 10.0s\n"),
            std::string::npos)
      << report_text(report);
  const auto json = nlohmann::json::parse(report_json(report));
  EXPECT_NEAR(json["questions"][2]["progress"].get<double>(), 3.6, 1e-9);
  EXPECT_EQ(json["reached"], "84.0 %");
  EXPECT_NEAR(json["questions"][2]["seconds_to_reached"].get<double>(), 10.0, 1e-9);
}

TEST(WhatIfReport, IsAnObjectForPrograms) {
  const WhatIfReport report = report_whatif(uneven_run(), job_of("runs/x"));
  const auto json = nlohmann::json::parse(report_json(report));
  EXPECT_EQ(json["run"], "runs/x");
  EXPECT_EQ(json["policy"], "sync");
  EXPECT_EQ(json["workers"], 4);
  EXPECT_EQ(json["questions"].size(), report.answers.size());
  EXPECT_EQ(json["questions"][2]["question"], "without worker 3");
  EXPECT_EQ(json["questions"][2]["ratio"], report.answers[2].ratio);
  EXPECT_TRUE(json["questions"][2]["progress"].is_null()) << "the noise is not known";
  EXPECT_EQ(json["lost_to_workers"][3]["worker"], 3);
  EXPECT_NEAR(json["lost_to_workers"][3]["share"].get<double>(), 0.75, 1e-9);
  EXPECT_EQ(json["notes"][0], "a note of the record");
}

TEST(WhatIfReport, IsAPictureNamedByTheLastPartOfTheRunsPath) {
  WhatIfReport report = report_whatif(uneven_run(), job_of("runs/x"));
  EXPECT_NE(report_plot(report).find("What if? x: sync on 4 workers"), std::string::npos);
  EXPECT_NE(report_plot(report).find("time lost: 75.0 % to worker 3"), std::string::npos);
  report.run = "runs/x/";
  EXPECT_NE(report_plot(report).find("What if? runs/x/: sync"), std::string::npos);
}

}  // namespace
}  // namespace outpace::cli
