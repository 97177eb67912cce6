#include "collective/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "collective/run_test.h"
#include "wire/transports.h"

namespace outpace::collective {
namespace {

constexpr Time kFar{std::chrono::hours(1)};

live::Offer offer() {
  return {.manifest = two_tensors(), .dataset_examples = 100, .initial_weights = {}};
}

TEST(Host, KeepsTheRecordOfWhatWorkersReportAndEvaluatesTheMeanOfTheirWeights) {
  const HostResult found = run_in_threads(
      {.topology = Topology::kGossip, .workers = 2, .limits = {.updates = 4}},
      [](const GroupOptions& /*meeting*/, const live::SessionOptions& session) {
        const auto rank = static_cast<float>(index(session.worker));
        Member member(session, offer(), [rank] { return std::vector<float>(5, 0.25F + rank / 2); });
        for (std::uint64_t i = 1; i <= 2; ++i) {
          member.report({.sequence = Sequence{i},
                         .examples = 8,
                         .loss = 2.0,
                         .compute_seconds = 0.5,
                         .runtime = 0.75});
        }
        member.sleep_until(kFar);  // Until the host says stop.
        member.leave();
      });
  EXPECT_EQ(found.code, ExitCode::kDone);
  EXPECT_EQ(found.why, "updates done");
  EXPECT_EQ(found.statistics.updates, 4U);
  EXPECT_EQ(found.statistics.examples_applied, 32U);
  ASSERT_EQ(found.statistics.workers.size(), 2U);
  EXPECT_EQ(found.statistics.workers[1].runtimes, (std::vector<float>{0.75F, 0.75F}));
  EXPECT_EQ(found.weights, std::vector<float>(5, 0.5F));
  ASSERT_EQ(found.evaluations.size(), 1U);
  EXPECT_EQ(found.evaluations.front().accuracy, 0.5);
  EXPECT_EQ(found.worst_replica, 0.25);
}

TEST(Host, ARunEndsAtItsTarget) {
  const HostResult found = run_in_threads(
      {.topology = Topology::kRing, .workers = 1, .target = {.target = 0.7, .consecutive = 1}},
      [](const GroupOptions& /*meeting*/, const live::SessionOptions& session) {
        const std::vector<float> weights(5, 0.75F);
        Member member(session, offer(), [&] { return weights; });
        EXPECT_TRUE(member.next_group(Version{0}, Member::Until::kOver).has_value());
        member.report({.sequence = Sequence{1},
                       .examples = 8,
                       .loss = 2.0,
                       .compute_seconds = 0.0,
                       .runtime = 0.0});
        member.bring(Version{1}, weights);
        member.sleep_until(kFar);
        EXPECT_TRUE(member.stopping());
        member.leave();
      });
  EXPECT_EQ(found.why, "target accuracy reached");
  EXPECT_TRUE(found.reached_target.has_value());
  EXPECT_EQ(found.worst_replica, std::nullopt);
}

TEST(Host, TheEndDoesNotWaitLongForWorkersWhoseConnectionsAreBroken) {
  const HostResult found = run_in_threads(
      {.topology = Topology::kRing,
       .workers = 2,
       .limits = {.seconds = std::chrono::milliseconds(20)},
       .expects_evaluator = false,
       .patience_if_broken = std::chrono::milliseconds(20)},
      [](const GroupOptions& /*meeting*/, const live::SessionOptions& session) {
        Member member(session, offer(), [] { return std::vector<float>(5); });
        EXPECT_TRUE(member.next_group(Version{0}, Member::Until::kOver).has_value());
        member.sleep_until(kFar);             // Until the host says stop.
        if (session.worker == WorkerId{0}) {  // It says that its group is broken.
          EXPECT_THROW((void)member.next_group(Version{0}, Member::Until::kOver), Error);
        } else {
          member.leave();
        }
      });
  EXPECT_EQ(found.code, ExitCode::kFailure);
  EXPECT_EQ(found.why, "the workers' connections to each other are broken, so they do not end");
}

TEST(Host, AWorkerThatGoesIsNamed) {
  const HostResult found =
      run_in_threads({.topology = Topology::kRing, .workers = 2},
                     [](const GroupOptions& /*meeting*/, const live::SessionOptions& session) {
                       Member member(session, offer(), [] { return std::vector<float>(5); });
                       if (session.worker == WorkerId{0}) {
                         member.sleep_until(kFar);
                       }
                     });
  EXPECT_EQ(found.code, ExitCode::kTooFewWorkers);
  EXPECT_NE(found.why.find("worker 1 is gone"), std::string::npos) << found.why;
}

TEST(Host, SaysHowAProcessEndedAlsoIfItHeardSoBeforeTheConnectionClosed) {
  const TemporaryDirectory folder;
  Host host({.workers = 1,
             .listen = "unix:" + (folder.path() / "host").string(),
             .token = "secret",
             .expects_evaluator = false},
            {});
  const std::jthread worker([&] {
    const Member member({.server = host.address(), .token = "secret", .worker = WorkerId{0}},
                        offer(),
                        [] { return std::vector<float>(5); });
    host.worker_ended("worker 0", "worker 0 was ended by signal 9");
  });
  EXPECT_EQ(host.run().why,
            "too few workers: 0 of 1 left, 1 needed; worker 0 was ended by signal 9");
}

TEST(Host, AWorkerThatIsNotOfTheRunIsRefused) {
  const HostResult found = run_in_threads(
      {.topology = Topology::kRing, .workers = 1, .patience = std::chrono::milliseconds(300)},
      [](const GroupOptions& /*meeting*/, const live::SessionOptions& session) {
        live::SessionOptions other = session;
        other.worker = WorkerId{1};
        try {
          const Member member(other, offer(), {});
          ADD_FAILURE() << "it was let in";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ExitCode::kIncompatible);
        }
      });
  EXPECT_EQ(found.code, ExitCode::kTooFewWorkers);
  EXPECT_EQ(found.why, "too few workers: 0 of 1 have come");
}

TEST(Host, AStrangerIsRefusedAndNamed) {
  const TemporaryDirectory folder;
  std::string said;
  Host host({.workers = 1,
             .listen = "unix:" + (folder.path() / "host").string(),
             .token = "secret",
             .expects_evaluator = false},
            {});
  host.watch({.warned = [&](const std::string& text) {
    said = text;
    host.fail(ExitCode::kFailure, "the test is over");
  }});
  const auto stranger = wire::connect({.address = host.address(), .token = "guessed"},
                                      [](const wire::ConnectionEvent& /*event*/) {});
  EXPECT_EQ(host.run().why, "the test is over");
  EXPECT_EQ(said, "refused process " + std::to_string(::getpid()) + ": a wrong token");
}

}  // namespace
}  // namespace outpace::collective
