#include "admission/admission.h"

#include <gtest/gtest.h>

#include "admission/admission_driver_test.h"

namespace outpace::admission {
namespace {

constexpr Time kNow{std::chrono::seconds(1)};

protocol::Hello hello_of_worker(std::uint32_t worker, std::uint64_t process) {
  return {.worker = WorkerId{worker},
          .process = process,
          .host = "here:" + std::to_string(process),
          .dataset_examples = 100,
          .manifest = network_named("a")};
}

// A job of two workers whose run has begun with worker 0, over connection 1.
TextDriver begun() {
  TextDriver driver({.workers = 2, .has_weights = true});
  EXPECT_EQ(driver.greet(kNow, ConnectionId{1}, hello_of_worker(0, 7)),
            "accept peer=1 worker=0 incarnation=1\nopen\njoin peer=1 worker=0 incarnation=1\n");
  driver.admission.began();
  return driver;
}

TEST(Admission, APeerHasItsRoleUntilItIsSentAway) {
  TextDriver driver = begun();
  const ConnectionId peer{1};
  EXPECT_EQ(driver.admission.find(ConnectionId{2}), nullptr);
  EXPECT_EQ(driver.admission.find(peer)->role, Role::kWorker);
  EXPECT_EQ(driver.admission.member(WorkerId{0}), peer);
  Effects effects;
  driver.admission.expel(peer, {protocol::Farewell::kFailed, "push: nonsense"}, effects);
  EXPECT_EQ(driver.carry_out(kNow, std::move(effects)),
            "warn 'worker 0 is sent away: push: nonsense'\n"
            "refuse peer=1 failed 'push: nonsense'\n"
            "leave worker=0 incarnation=1 dead\n");
  EXPECT_EQ(driver.admission.find(peer)->role, Role::kSentAway);
  EXPECT_FALSE(driver.admission.member(WorkerId{0}).has_value());
}

TEST(Admission, TheCoordinatorDismissesAWorkerOnce) {
  TextDriver driver = begun();
  const protocol::Stop stop{protocol::Farewell::kPresumedDead, "silent"};
  const auto refused = driver.admission.dismiss(WorkerId{0}, stop);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->peer, ConnectionId{1});
  EXPECT_EQ(refused->stop, stop);
  EXPECT_FALSE(driver.admission.dismiss(WorkerId{0}, stop).has_value());
  EXPECT_EQ(driver.greet(kNow, ConnectionId{2}, hello_of_worker(0, 8)),
            "accept peer=2 worker=0 incarnation=2\njoin peer=2 worker=0 incarnation=2\n");
}

TEST(Admission, AWrongProgramThatComesAgainAndAgainIsNewsOnce) {
  TextDriver driver = begun();
  protocol::Hello wrong = hello_of_worker(1, 9);
  wrong.dataset_examples = 3;
  const std::string why = "this worker's data set has 3 examples, the job's has 100";
  EXPECT_EQ(driver.greet(kNow, ConnectionId{2}, wrong),
            "refuse peer=2 incompatible '" + why + "'\nwarn 'refused a connection: " + why + "'\n");
  EXPECT_EQ(driver.greet(kNow, ConnectionId{3}, wrong),
            "refuse peer=3 incompatible '" + why + "'\n");
}

TEST(Admission, AWorkerOfThisJobThatComesAgainKeepsItsConstants) {
  TextDriver driver = begun();
  protocol::Hello again = hello_of_worker(1, 9);
  again.seen_job = 1;
  again.seen_version = Version{3};
  EXPECT_EQ(driver.greet(kNow, ConnectionId{2}, again),
            "accept peer=2 worker=1 incarnation=1\n"
            "join peer=2 worker=1 incarnation=1 has-constants\n");
}

TEST(Admission, AnEvaluatorIsAskedForOnce) {
  TextDriver driver({.workers = 1, .starts_evaluator = true, .has_weights = true});
  protocol::Hello first = hello_of_worker(0, 7);
  first.wants_evaluator = true;
  EXPECT_EQ(driver.greet(kNow, ConnectionId{1}, first),
            "accept peer=1 worker=0 incarnation=1\nstart-evaluator\n")
      << "it joins when the evaluator is there";
  Effects effects;
  driver.admission.ask_evaluator(kNow, effects);
  EXPECT_EQ(driver.carry_out(kNow, std::move(effects)), "");
  Effects comes;
  driver.admission.observe(ConnectionId{2}, {.manifest = network_named("a")}, comes);
  EXPECT_EQ(driver.carry_out(kNow, std::move(comes)),
            "serve peer=2\nopen\njoin peer=1 worker=0 incarnation=1\n");
}

TEST(Admission, APersonIsToldHowToStartAnEvaluator) {
  TextDriver driver({.workers = 1});
  driver.admission.listens(kNow, "server:7000");
  Effects effects;
  driver.admission.ask_evaluator(kNow, effects);
  const std::string said = driver.carry_out(kNow, std::move(effects));
  EXPECT_NE(said.find("OUTPACE_SERVER=server:7000"), std::string::npos) << said;
}

}  // namespace
}  // namespace outpace::admission
