// What a run waits for; the scenarios of testdata/ show the rest.

#include <gtest/gtest.h>

#include "admission/admission_driver_test.h"

namespace outpace::admission {
namespace {

using std::chrono::seconds;

Time at_second(int second) {
  return Time{seconds(second)};
}

protocol::Hello worker_with_weights(std::uint32_t worker) {
  return {.worker = WorkerId{worker},
          .process = worker + 1,
          .host = "here",
          .dataset_examples = 100,
          .manifest = network_named("a")};
}

std::string tick(TextDriver& driver, Time now) {
  Effects effects;
  driver.admission.tick(now, effects);
  return driver.carry_out(now, std::move(effects));
}

TEST(AdmissionBeginning, WaitsForWorker0AndThenAsksAnyForTheFirstWeights) {
  TextDriver driver({.workers = 2, .patience = seconds(60)});
  driver.admission.listens(at_second(0), "");
  EXPECT_EQ(driver.greet(at_second(1), ConnectionId{1}, worker_with_weights(1)),
            "accept peer=1 worker=1 incarnation=1\n");
  EXPECT_TRUE(driver.admission.needs_weights());
  (void)tick(driver, at_second(29));
  EXPECT_EQ(driver.admission.next_deadline(), at_second(30));
  EXPECT_EQ(tick(driver, at_second(30)),
            "warn 'worker 0 has not come in 30 s: the run begins with another worker's weights'\n"
            "welcome peer=1 incarnation=1 needs-weights\n");
  driver.admission.weights_came(ConnectionId{1});
  EXPECT_FALSE(driver.admission.needs_weights());
  EXPECT_EQ(driver.carry_out(at_second(31), {}), "open\njoin peer=1 worker=1 incarnation=1\n");
}

TEST(AdmissionBeginning, HasNoDeadlineOnceTheRunHasBegunOrEnded) {
  TextDriver driver({.workers = 1, .has_weights = true});
  driver.admission.listens(at_second(0), "");
  EXPECT_EQ(driver.admission.next_deadline(), at_second(2));
  driver.admission.began();
  EXPECT_EQ(driver.admission.next_deadline(), Time::max());
  EXPECT_EQ(tick(driver, at_second(100)), "");
  TextDriver other({.workers = 1});
  other.admission.listens(at_second(0), "");
  other.admission.ended({ExitCode::kFailure, "it failed"});
  EXPECT_EQ(other.admission.next_deadline(), Time::max());
  EXPECT_EQ(tick(other, at_second(100)), "");
}

TEST(AdmissionBeginning, NothingLapsesOfARunThatGoesOn) {
  TextDriver driver({.workers = 1});
  driver.admission.resume(
      {.network = network_named("a"), .examples = 100, .script = protocol::Script{}}, Version{28});
  driver.admission.listens(at_second(0), "");
  EXPECT_EQ(driver.greet(at_second(1), ConnectionId{1}, worker_with_weights(0)),
            "accept peer=1 worker=0 incarnation=1\njoin peer=1 worker=0 incarnation=1\n");
  Effects effects;
  driver.admission.closed(ConnectionId{1}, "end of stream", effects);
  EXPECT_EQ(driver.carry_out(at_second(2), std::move(effects)),
            "warn 'worker 0 is gone: end of stream'\nleave worker=0 incarnation=1 dead\n");
  EXPECT_EQ(driver.admission.terms().examples, 100U);
  EXPECT_FALSE(driver.admission.needs_weights());
}

TEST(AdmissionBeginning, WhatLapsesDependsOnWhetherTheRunEndsMeanwhile) {
  // The driver carries the leave out, and the coordinator ends the run: the terms stay.
  TextDriver driver({.workers = 2});
  (void)driver.greet(at_second(1), ConnectionId{1}, worker_with_weights(0));
  driver.admission.weights_came(ConnectionId{1});
  (void)driver.carry_out(at_second(1), {});
  Effects effects;
  driver.admission.closed(ConnectionId{1}, "end of stream", effects);
  driver.admission.ended({ExitCode::kTooFewWorkers, "too few workers"});
  EXPECT_EQ(driver.carry_out(at_second(2), std::move(effects)),
            "warn 'worker 0 is gone: end of stream'\nleave worker=0 incarnation=1 dead\n");
  EXPECT_EQ(driver.admission.terms().network, network_named("a"));
}

}  // namespace
}  // namespace outpace::admission
