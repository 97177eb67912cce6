// How a run ends; the scenarios of testdata/ show the rest.

#include <gtest/gtest.h>

#include "admission/admission_driver_test.h"

namespace outpace::admission {
namespace {

constexpr Time kEnd{std::chrono::seconds(9)};

TEST(AdmissionEnd, AStopBeforeAnybodyHasJoinedIsTheEnd) {
  TextDriver driver({.workers = 1});
  Effects effects;
  driver.admission.stop(ExitCode{130}, "interrupted", effects);
  EXPECT_EQ(driver.carry_out(kEnd, std::move(effects)), "end code=130 'interrupted'\n");
  ASSERT_TRUE(driver.admission.end().has_value());
  EXPECT_EQ(driver.admission.end()->why, "interrupted");
  EXPECT_FALSE(driver.admission.waits_until(kEnd, false, effects).has_value());
}

TEST(AdmissionEnd, NobodyWillJoinIsTheEndOfARunWithoutACoordinator) {
  TextDriver driver({.workers = 1});
  Effects effects;
  driver.admission.nobody_will_join(effects);
  EXPECT_EQ(driver.carry_out(kEnd, std::move(effects)),
            "end code=5 'too few workers: all ended before they joined'\n");
}

TEST(AdmissionEnd, TheFirstEndCounts) {
  TextDriver driver({.workers = 1});
  driver.admission.ended({ExitCode::kDone, "epochs done"});
  driver.admission.ended({ExitCode::kFailure, "another"});
  EXPECT_EQ(driver.admission.end()->code, ExitCode::kDone);
}

TEST(AdmissionEnd, AScriptHearsWhetherItsMeasurementComes) {
  TextDriver alone({.workers = 1});
  EXPECT_TRUE(alone.admission.measurement_comes(false)) << "a person may start an evaluator";
  TextDriver driver({.workers = 1, .starts_evaluator = true});
  EXPECT_FALSE(driver.admission.measurement_comes(false));
  Effects effects;
  driver.admission.ask_evaluator(kEnd, effects);
  EXPECT_TRUE(driver.admission.measurement_comes(false)) << "it was started";
  driver.admission.observe(ConnectionId{1}, {.manifest = network_named("a")}, effects);
  EXPECT_TRUE(driver.admission.measurement_comes(false));
  driver.admission.ended({ExitCode::kDone, "epochs done"});
  EXPECT_FALSE(driver.admission.measurement_comes(false));
  EXPECT_TRUE(driver.admission.measurement_comes(true)) << "of the final weights";
  driver.admission.close(effects);
  EXPECT_FALSE(driver.admission.measurement_comes(true));
}

}  // namespace
}  // namespace outpace::admission
