#include "simulation/simulation.h"

#include <gtest/gtest.h>

#include "job/declared_test.h"

namespace outpace::simulation {
namespace {

using Simulate = job::Declared<job::SimulateJob>;

std::string no_file_read(const std::string& option, const std::string& /*path*/) {
  throw usage_error("--" + option + " is not expected");
}

struct Ran {
  Result result;
  std::uint64_t decisions = 0;
  std::uint64_t looks = 0;
};

Ran run(const job::SimulateJob& job, bool looks) {
  job::Resolved resolved = job::resolve(
      job.training,
      {.heartbeat_timeout = job.heartbeat_timeout, .progress_timeout = job.progress_timeout},
      {.workers_max = job::kSimulatedWorkersMax});
  resolved.coordinator.examples = job.examples;
  Ran ran;
  Listener listener{
      .decided = [&ran](Time, const policy::Event&, const policy::Decision&) { ++ran.decisions; },
      .warned = [](const std::string& warning) { ADD_FAILURE() << warning; }};
  if (looks) {
    listener.after = [&ran](const server::Coordinator&) { ++ran.looks; };
    listener.restarted = [] {};
  }
  ran.result = Simulation(job, no_file_read).run(std::move(resolved), {}, listener);
  return ran;
}

TEST(Simulation, EndsWithTheUpdatesThatAreAskedFor) {
  Simulate simulate;
  simulate.give("workers", "3").give("updates", "20");
  const Ran ran = run(simulate.job, false);
  EXPECT_EQ(ran.result.code, ExitCode::kDone);
  EXPECT_EQ(ran.result.statistics.updates, 20U);
  EXPECT_GT(ran.decisions, 20U);
  EXPECT_EQ(ran.looks, 0U);
  EXPECT_TRUE(ran.result.links.empty());
  const Ran watched = run(simulate.job, true);
  EXPECT_GT(watched.looks, 20U);
  EXPECT_EQ(watched.result.hash, ran.result.hash);  // To look changes nothing.
}

TEST(Simulation, TellsForATraceHowMuchOfEachLinkWasInUse) {
  Simulate simulate;
  simulate.give("workers", "2")
      .give("updates", "20")
      .give("bandwidth", "1MBps")
      .give("payload", "100kB");
  const std::uint64_t hash = run(simulate.job, false).result.hash;
  simulate.give("trace", "not-written.json");
  const Result result = run(simulate.job, false).result;
  EXPECT_EQ(result.hash, hash);
  ASSERT_EQ(result.links.size(), 6U);  // Three hosts, one of them the server's; up and down.
  for (const LinkInUse& link : result.links) {
    ASSERT_FALSE(link.used.empty()) << link.name;
    for (const double used : link.used) {
      EXPECT_GE(used, 0.0) << link.name;
      EXPECT_LE(used, 1.0 + 1e-9) << link.name;
    }
  }
}

}  // namespace
}  // namespace outpace::simulation
