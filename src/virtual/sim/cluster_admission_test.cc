// Peers that greet a simulated server beside its own workers.

#include <gtest/gtest.h>

#include "sim/cluster.h"

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;

// Keeps what the admission wants done; the coordinator's effects are not looked at.
class Admitted final : public ClusterObserver {
 public:
  void answered(Time /*now*/,
                const server::Input& /*input*/,
                const server::Effects& /*effects*/) override {}
  void greeted(Time /*now*/, const admission::Input& input) override {
    ended = ended || std::holds_alternative<admission::RunEnds>(input);
  }
  void admitted(Time /*now*/, const admission::Effect& effect) override {
    const auto* refuse = std::get_if<admission::Refuse>(&effect);
    if (refuse != nullptr && ended) {
      late.push_back(refuse->stop);
    } else if (refuse != nullptr && refuse->stop.how != protocol::Farewell::kFinished) {
      refused.push_back(refuse->stop);
    } else if (const auto* serve = std::get_if<admission::Serve>(&effect)) {
      served.push_back(serve->peer);
    }
    lost += std::holds_alternative<admission::EvaluatorLost>(effect) ? 1 : 0;
  }
  [[nodiscard]] bool after(Time /*now*/,
                           const server::Coordinator& /*coordinator*/,
                           const server::Shard* /*shard*/) override {
    return false;
  }
  void restarted(Time /*now*/) override {}

  bool ended = false;
  std::vector<protocol::Stop> refused;  // But for the farewells of the end.
  std::vector<protocol::Stop> late;     // After the end.
  std::vector<ConnectionId> served;
  int lost = 0;
};

ClusterResult run_with_peers(const std::vector<std::string>& faults, Admitted* admitted) {
  ClusterOptions options{
      .policy = Spec::parse("async"),
      .coordinator = {.workers = 2, .batch = 4, .examples = 64, .limits = {.updates = 200}},
      .shard = {.optimizer = Spec::parse("sgd")},
      .target = {},
      .latency = milliseconds(1),
      .observer = admitted};
  for (const std::string& fault : faults) {
    options.faults.push_back(parse_fault(fault, 2));
  }
  DrawnTiming timing(
      Runtimes::parse("constant(mean=100ms)", {.workers = 2, .seed = 1, .read_file = {}}), {});
  return Cluster(options, timing, nullptr, nullptr, nullptr).run();
}

TEST(ClusterAdmission, AForeignWorkerIsRefusedAndChangesNothing) {
  Admitted admitted;
  const ClusterResult found =
      run_with_peers({"foreign:worker=1,at=2s", "join:worker=1,at=3s"}, &admitted);
  EXPECT_EQ(found.faults.foreign, 1U);
  ASSERT_EQ(admitted.refused.size(), 1U);
  EXPECT_EQ(admitted.refused.front().how, protocol::Farewell::kIncompatible);
  EXPECT_TRUE(admitted.refused.front().why.starts_with("another network: "));
  EXPECT_EQ(found.statistics.workers[1].incarnations, 1U);
}

TEST(ClusterAdmission, AnotherProcessIsRefusedWhileTheWorkerLives) {
  Admitted admitted;
  const ClusterResult found = run_with_peers({"double:worker=1,at=2s"}, &admitted);
  EXPECT_EQ(found.faults.doubles, 1U);
  ASSERT_EQ(admitted.refused.size(), 1U);
  EXPECT_EQ(admitted.refused.front().how, protocol::Farewell::kFenced);
  EXPECT_EQ(found.statistics.workers[1].incarnations, 1U);
  EXPECT_EQ(found.statistics.updates, 200U);
}

TEST(ClusterAdmission, ASecondEvaluatorTakesOverWhenTheFirstGoes) {
  Admitted admitted;
  const ClusterResult found =
      run_with_peers({"evaluator:at=1s,for=3s", "evaluator:at=2s,for=4s"}, &admitted);
  EXPECT_EQ(found.faults.evaluators, 2U);
  EXPECT_EQ(admitted.served.size(), 2U);
  EXPECT_EQ(admitted.lost, 2);
  EXPECT_TRUE(admitted.refused.empty());
}

TEST(ClusterAdmission, ALateComerHearsThatTheRunIsOver) {
  Admitted admitted;
  const ClusterResult found = run_with_peers({}, &admitted);
  EXPECT_EQ(found.why, "updates done");
  ASSERT_FALSE(admitted.late.empty());
  for (const protocol::Stop& stop : admitted.late) {
    EXPECT_EQ(stop,
              (protocol::Stop{protocol::Farewell::kFinished, "the run is over: updates done"}));
  }
}

TEST(ClusterAdmission, AConnectionThatBrokeIsFencedByTheNextOne) {
  Admitted admitted;
  const ClusterResult found = run_with_peers({"lose:at=5s,for=1s,probability=0.5"}, &admitted);
  ASSERT_FALSE(admitted.refused.empty());
  EXPECT_EQ(admitted.refused.front().why, "this process has connected anew");
  EXPECT_EQ(found.statistics.updates, 200U);
}

TEST(ClusterAdmission, PeersThatAreRefusedDoNotMoveTheRun) {
  Admitted admitted;
  const ClusterResult alone = run_with_peers({}, nullptr);
  const ClusterResult visited =
      run_with_peers({"foreign:worker=0,at=2s", "double:worker=1,at=3s"}, &admitted);
  EXPECT_EQ(visited.statistics.last_commit, alone.statistics.last_commit);
  EXPECT_EQ(visited.statistics.workers[0].accepted, alone.statistics.workers[0].accepted);
}

}  // namespace
}  // namespace outpace::sim
