#include "invariants/admission_rules.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "admission/driver.h"
#include "base/rng.h"
#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

constexpr WorkerId kRank{0};

protocol::Manifest network_of_tensor(const std::string& tensor) {
  return {.tensors = {{.name = tensor, .shape = {2}}}};
}

admission::WorkerGreets greeting(std::uint64_t peer, const std::string& tensor = "a") {
  return {.peer = ConnectionId{peer},
          .worker = kRank,
          .process = peer,
          .network = network_of_tensor(tensor)};
}

admission::Accept acceptance(std::uint64_t peer, std::uint32_t incarnation) {
  return {.peer = ConnectionId{peer},
          .worker = kRank,
          .incarnation = incarnation,
          .needs_weights = false};
}

admission::Join join_of(std::uint64_t peer, std::uint32_t incarnation) {
  return {.workers = {{.peer = ConnectionId{peer},
                       .newcomer = {.worker = kRank, .incarnation = incarnation, .host = ""},
                       .has_constants = false}}};
}

class AdmissionRulesTest : public testing::Test {
 protected:
  void expect_violation(const admission::Effect& effect) {
    EXPECT_THROW(rules_.check(effect), Violation);
  }
  void accept(std::uint64_t peer, std::uint32_t incarnation) {
    rules_.came(greeting(peer));
    rules_.check(acceptance(peer, incarnation));
  }

  AdmissionRules rules_{network_of_tensor("a")};
};

TEST_F(AdmissionRulesTest, AWorkerHasOneLiveIncarnation) {
  accept(1, 1);
  rules_.came(greeting(2));
  expect_violation(acceptance(2, 2));
  rules_.came(admission::ConnectionEnds{ConnectionId{1}});
  rules_.check(acceptance(2, 2));
  rules_.came(admission::ConnectionEnds{ConnectionId{2}});
  rules_.came(greeting(3));
  expect_violation(acceptance(3, 2));
}

TEST_F(AdmissionRulesTest, AForeignNetworkIsNotAccepted) {
  rules_.came(greeting(1, "b"));
  expect_violation(acceptance(1, 1));
  rules_.came(admission::EvaluatorGreets{ConnectionId{2}, network_of_tensor("b")});
  expect_violation(admission::Serve{ConnectionId{2}});
}

TEST_F(AdmissionRulesTest, OnlyAnAcceptedWorkerJoinsAndOnlyOnceAndBeforeTheEnd) {
  rules_.came(greeting(1));
  expect_violation(join_of(1, 1));
  rules_.check(acceptance(1, 1));
  rules_.check(join_of(1, 1));
  expect_violation(join_of(1, 1));
  rules_.came(admission::ConnectionEnds{ConnectionId{1}});
  rules_.check(admission::Leave{kRank, 1, policy::Departure::kDead, ""});
  expect_violation(admission::Leave{kRank, 1, policy::Departure::kDead, ""});
  accept(2, 2);
  rules_.came(admission::RunEnds{});
  expect_violation(join_of(2, 2));
  rules_.came(greeting(3));
  expect_violation(acceptance(3, 3));
}

TEST_F(AdmissionRulesTest, EvaluatorsAreServedInTheirOrder) {
  rules_.came(admission::EvaluatorGreets{ConnectionId{1}, network_of_tensor("a")});
  EXPECT_THROW(rules_.at_rest(), Violation) << "none is served";
  rules_.came(admission::EvaluatorGreets{ConnectionId{2}, network_of_tensor("a")});
  expect_violation(admission::Serve{ConnectionId{2}});
  rules_.check(admission::Serve{ConnectionId{1}});
  rules_.at_rest();
  expect_violation(admission::Serve{ConnectionId{2}});
  expect_violation(admission::EvaluatorLost{});
  rules_.came(admission::ConnectionEnds{ConnectionId{1}});
  rules_.check(admission::EvaluatorLost{});
  rules_.check(admission::Serve{ConnectionId{2}});
}

TEST_F(AdmissionRulesTest, EveryGreetingIsAnsweredAndNobodyIsToldAnythingAfterItsEnd) {
  rules_.came(greeting(1));
  EXPECT_THROW(rules_.at_rest(), Violation);
  rules_.check(admission::Refuse{ConnectionId{1}, {protocol::Farewell::kFailed, "no"}});
  rules_.at_rest();
  expect_violation(admission::Refuse{ConnectionId{1}, {protocol::Farewell::kFailed, "no"}});
  expect_violation(admission::Welcome{ConnectionId{1}, 1, false});
  rules_.came(admission::ConnectionEnds{ConnectionId{1}});
  expect_violation(admission::HangUp{ConnectionId{1}});
}

TEST_F(AdmissionRulesTest, AnotherServerKnowsNobodyAndGivesNewerIncarnations) {
  accept(1, 4);
  rules_.restarted();
  rules_.came(greeting(2));
  expect_violation(acceptance(2, 4));
  rules_.check(acceptance(2, 5));
}

// An admission with random peers, held to the rules.
class RandomPeers {
 public:
  explicit RandomPeers(std::uint64_t seed)
      : rng_(seed, 0),
        rules_(network_of_tensor("a")),
        admission_({.workers = kWorkers,
                    .expects_evaluator = rng_.below(2) == 0,
                    .network = network_of_tensor("a"),
                    .has_weights = true}) {}

  void step() {
    now_ += std::chrono::milliseconds(rng_.below(1500));
    const ConnectionId peer = random_peer();
    admission::Effects effects;
    switch (rng_.below(8)) {
      case 0:
      case 1:
      case 2:
        return greet();
      case 3: {
        const ConnectionId from{++connections_};
        const std::string tensor = rng_.below(4) == 0 ? "b" : "a";
        rules_.came(admission::EvaluatorGreets{from, network_of_tensor(tensor)});
        admission_.observe(from, {.manifest = network_of_tensor(tensor)}, effects);
        break;
      }
      case 4:
      case 5:
        end(peer, effects);
        break;
      case 6:
        if (is_worker(peer)) {
          rules_.came(admission::WorkerLeaves{peer});
          admission_.goodbye(peer, effects);
        }
        break;
      default:
        if (is_worker(peer)) {
          admission_.expel(peer, {protocol::Farewell::kFailed, "nonsense"}, effects);
        }
    }
    carry_out(effects);
  }
  void begin() { admission_.began(); }
  void end_run() {
    admission_.ended({ExitCode::kDone, "done"});
    rules_.came(admission::RunEnds{});
  }
  [[nodiscard]] std::uint64_t joined() const { return joined_; }

 private:
  static constexpr std::uint32_t kWorkers = 3;

  ConnectionId random_peer() { return ConnectionId{1 + rng_.below(connections_ + 1)}; }
  [[nodiscard]] bool is_worker(ConnectionId peer) const {
    const admission::Peer* found = admission_.find(peer);
    return found != nullptr && found->role == admission::Role::kWorker;
  }
  void end(ConnectionId peer, admission::Effects& effects) {
    rules_.came(admission::ConnectionEnds{peer});
    admission_.closed(peer, "end of stream", effects);
  }
  void greet() {
    const ConnectionId from{++connections_};
    const WorkerId worker{static_cast<std::uint32_t>(rng_.below(kWorkers + 1))};
    const std::string tensor = rng_.below(4) == 0 ? "b" : "a";
    const protocol::Hello hello{.worker = worker,
                                .process = rng_.below(6),
                                .host = "here",
                                .dataset_examples = 100,
                                .manifest = network_of_tensor(tensor)};
    rules_.came(admission::WorkerGreets{from, worker, hello.process, hello.manifest});
    admission::Effects effects;
    if (const auto held = admission_.in_the_way(now_, hello); held && rng_.below(2) == 0) {
      rules_.came(admission::ConnectionEnds{*held});
      admission_.hung_up(*held, effects);
      follow(effects);
    }
    admission_.hello(now_, from, hello, Version{0}, effects);
    carry_out(effects);
  }
  void follow(admission::Effects& effects) {
    admission::carry_out(admission_, now_, effects, [&](const auto& effect) {
      rules_.check(effect);
      joined_ += std::is_same_v<std::decay_t<decltype(effect)>, admission::Join> ? 1 : 0;
    });
  }
  void carry_out(admission::Effects& effects) {
    follow(effects);
    rules_.at_rest();
  }

  Rng rng_;
  AdmissionRules rules_;
  admission::Admission admission_;
  Time now_{};
  std::uint64_t connections_ = 0;
  std::uint64_t joined_ = 0;
};

TEST(AdmissionRules, HoldWhateverPeersDo) {
  std::uint64_t joined = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomPeers peers(seed);
    for (int i = 0; i < 60; ++i) {
      ASSERT_NO_THROW(peers.step());
    }
    peers.begin();
    for (int i = 0; i < 60; ++i) {
      ASSERT_NO_THROW(peers.step());
    }
    peers.end_run();
    for (int i = 0; i < 30; ++i) {
      ASSERT_NO_THROW(peers.step());
    }
    joined += peers.joined();
  }
  EXPECT_GT(joined, 3000U);
}

}  // namespace
}  // namespace outpace::invariants
