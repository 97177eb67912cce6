#include "invariants/coordinator_rules.h"

#include <cmath>

#include <gtest/gtest.h>

#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

using server::Effects;
using server::Forget;
using server::Input;
using server::JoinInput;
using server::LeaveInput;
using server::PushInput;
using server::Send;
using server::StepWeights;
using enum protocol::Outcome;

constexpr WorkerId kA{0};
constexpr WorkerId kB{1};

protocol::GradientId id(WorkerId worker, std::uint64_t sequence, std::uint32_t incarnation = 1) {
  return {.job = 1,
          .generation = 1,
          .worker = worker,
          .incarnation = incarnation,
          .sequence = Sequence{sequence}};
}
Send release(WorkerId worker, std::uint64_t sequence, std::uint64_t version, std::uint64_t begin) {
  return {worker,
          protocol::Release{.sequence = Sequence{sequence},
                            .version = Version{version},
                            .nominal = 4,
                            .may_keep_part = false,
                            .now = Time{},
                            .ranges = {{0, begin, begin + 4}}}};
}
Send verdict(WorkerId worker, std::uint64_t sequence, protocol::Outcome outcome) {
  return {worker, protocol::Verdict{Sequence{sequence}, outcome, ""}};
}
server::Accept accepts(WorkerId worker, std::uint64_t sequence, double weight = 1.0) {
  return {worker, Sequence{sequence}, weight, 4};
}

class Exchange {
 public:
  explicit Exchange(std::optional<Duration> progress = std::nullopt)
      : coordination_(2, std::chrono::seconds(5), progress) {
    then(JoinInput{kA, 1}, {release(kA, 1, 0, 0)});
    then(JoinInput{kB, 1}, {release(kB, 2, 0, 4)});
  }

  Exchange& then(const Input& input, const Effects& effects, std::uint64_t decisions = 0) {
    coordination_.check(now_, input, decisions, effects);
    return *this;
  }
  // The first gradient of A is an update, and A computes again.
  Exchange& update() {
    return then(
        PushInput{id(kA, 1), 4, true},
        {accepts(kA, 1), verdict(kA, 1, kAccepted), StepWeights{0.1}, release(kA, 3, 1, 8)});
  }
  // The invariant that this breaks; empty if none.
  std::string broken_by(const Input& input, const Effects& effects, std::uint64_t decisions = 0) {
    try {
      then(input, effects, decisions);
    } catch (const Violation& violation) {
      return violation.invariant();
    }
    return "";
  }
  std::string at_rest(std::uint32_t live) {
    try {
      coordination_.at_rest(now_, live, true);
    } catch (const Violation& violation) {
      return violation.invariant();
    }
    return "";
  }

  Exchange& wait(Duration duration) {
    now_ += duration;
    return *this;
  }

 private:
  Time now_{};
  Coordination coordination_;
};

TEST(Coordination, TakesAGradientUpOnce) {
  const Input push = PushInput{id(kA, 1), 4, true};
  EXPECT_EQ(Exchange().broken_by(push, {accepts(kA, 1), accepts(kA, 1)}), "I1");
  EXPECT_EQ(Exchange().broken_by(push, {accepts(kB, 2)}), "I1") << "not the one that came";
  EXPECT_EQ(Exchange().broken_by(push, {}), "I1") << "no verdict";
  EXPECT_EQ(Exchange().broken_by(push, {verdict(kA, 1, kAccepted)}), "I1") << "and not accepted";
  EXPECT_EQ(Exchange().broken_by(push, {accepts(kA, 1), verdict(kA, 1, kDropped)}), "I1");
  EXPECT_EQ(Exchange().broken_by(server::OtherInput{}, {StepWeights{0.1}}), "I1") << "of nothing";
}

TEST(Coordination, GivesARepeatedGradientItsFirstVerdictAndNoMore) {
  const Input push = PushInput{id(kA, 1), 4, true};
  EXPECT_EQ(Exchange().update().broken_by(push, {verdict(kA, 1, kAccepted), Forget{kA}}), "");
  EXPECT_EQ(Exchange().update().broken_by(push, {Forget{kA}}), "");
  EXPECT_EQ(Exchange().update().broken_by(push, {verdict(kA, 1, kDropped)}), "I1");
  EXPECT_EQ(Exchange().update().broken_by(push, {accepts(kA, 1)}), "I1");
  EXPECT_EQ(Exchange().update().broken_by(push, {}, /*decisions=*/1), "I1");
}

TEST(Coordination, HandsAnExampleToOneWorkerOnce) {
  Exchange out;
  EXPECT_EQ(out.broken_by(PushInput{id(kA, 1), 4, true},
                          {accepts(kA, 1), verdict(kA, 1, kAccepted), release(kA, 3, 0, 6)}),
            "I1")
      << "6 and 7 are with B";
  Exchange used;
  EXPECT_EQ(used.broken_by(PushInput{id(kA, 1), 4, true},
                           {accepts(kA, 1), verdict(kA, 1, kAccepted), release(kA, 3, 0, 0)}),
            "I1");
  Exchange dropped;
  EXPECT_EQ(dropped.broken_by(PushInput{id(kA, 1), 4, true},
                              {verdict(kA, 1, kDropped), release(kA, 3, 0, 0)}),
            "");
  Exchange dead;
  EXPECT_EQ(dead.then(LeaveInput{kB, 1}, {})
                .broken_by(PushInput{id(kA, 1), 4, true},
                           {verdict(kA, 1, kDropped), release(kA, 3, 0, 4)}),
            "");
}

TEST(Coordination, LetsNoOldIncarnationChangeAnything) {
  Exchange run;
  run.then(JoinInput{kA, 2}, {release(kA, 3, 0, 0)});
  EXPECT_EQ(run.broken_by(LeaveInput{kA, 1}, {}), "");
  EXPECT_EQ(run.broken_by(PushInput{id(kA, 1, 1), 4, true}, {Forget{kA}}), "");
  EXPECT_EQ(run.broken_by(LeaveInput{kA, 1}, {}, /*decisions=*/1), "I7");
  EXPECT_EQ(run.broken_by(PushInput{id(kA, 3, 1), 4, true}, {accepts(kA, 3)}), "I7");
}

TEST(Coordination, SendsNothingToTheDeadAndCountsTheLiving) {
  Exchange run;
  run.then(LeaveInput{kB, 1}, {});
  EXPECT_EQ(run.at_rest(1), "");
  EXPECT_EQ(run.at_rest(2), "I6");
  EXPECT_EQ(run.broken_by(server::OtherInput{}, {release(kB, 3, 0, 4)}), "I6");
}

TEST(Coordination, CountsNobodyAsLiveWhoIsSilentForTooLong) {
  Exchange exchange;
  exchange.wait(std::chrono::seconds(4)).then(server::HeartbeatInput{kA, 1}, {});
  EXPECT_EQ(exchange.wait(std::chrono::seconds(1)).at_rest(2), "");
  EXPECT_EQ(exchange.wait(Duration{1}).at_rest(2), "I6") << "B";
  exchange.then(server::OtherInput{},
                {server::Disconnect{kB, {protocol::Farewell::kPresumedDead, ""}}});
  EXPECT_EQ(exchange.at_rest(1), "");
  exchange.then(server::HeartbeatInput{kA, 0}, {});
  EXPECT_EQ(exchange.wait(std::chrono::seconds(4)).at_rest(1), "I6")
      << "an old incarnation does not count";
}

// B is set aside at its first release, and A has its examples.
Exchange with_b_stalled() {
  Exchange run;
  run.then(server::OtherInput{},
           {server::Stalled{kB}, Send{kB, protocol::Cancel{Sequence{2}, {}}}});
  run.then(PushInput{id(kA, 1), 4, true},
           {accepts(kA, 1), verdict(kA, 1, kAccepted), StepWeights{0.1}, release(kA, 3, 1, 4)});
  return run;
}

TEST(Coordination, SetsAStalledWorkerAsideUntilItAnswers) {
  EXPECT_EQ(with_b_stalled().at_rest(1), "");
  EXPECT_EQ(with_b_stalled().broken_by(server::OtherInput{}, {server::Stalled{kB}}), "I6")
      << "twice";
  EXPECT_EQ(with_b_stalled().broken_by(server::OtherInput{}, {release(kB, 4, 1, 8)}), "I6");
  Exchange dead = with_b_stalled();
  dead.then(LeaveInput{kB, 1}, {});
  EXPECT_EQ(dead.at_rest(1), "");
  Exchange gave_up = with_b_stalled();
  EXPECT_EQ(gave_up.broken_by(server::AbandonInput{id(kB, 2)}, {release(kB, 4, 1, 8)}, 1), "");
  EXPECT_EQ(gave_up.at_rest(2), "");
}

TEST(Coordination, DropsTheLateGradientOfAStalledWorker) {
  const Input late = PushInput{id(kB, 2), 4, true};
  EXPECT_EQ(with_b_stalled().broken_by(late, {accepts(kB, 2)}), "I1");
  EXPECT_EQ(with_b_stalled().broken_by(late, {}), "I1") << "no verdict";
  EXPECT_EQ(with_b_stalled().broken_by(late, {verdict(kB, 2, kRefused)}), "I1");
  Exchange back = with_b_stalled();
  EXPECT_EQ(back.broken_by(late, {Forget{kB}, verdict(kB, 2, kDropped), release(kB, 4, 1, 8)}, 1),
            "");
  EXPECT_EQ(back.at_rest(2), "");
  EXPECT_EQ(back.broken_by(late, {verdict(kB, 2, kDropped)}), "") << "again";
  EXPECT_EQ(back.broken_by(late, {}, /*decisions=*/1), "I1");
}

TEST(Coordination, WaitsForNobodyWhoIsAtAReleaseForTooLong) {
  Exchange run(std::chrono::seconds(2));
  EXPECT_EQ(run.wait(std::chrono::seconds(2)).at_rest(2), "");
  EXPECT_EQ(run.wait(Duration{1}).at_rest(2), "I6");
  run.then(server::OtherInput{}, {server::Stalled{kA}, server::Stalled{kB}});
  EXPECT_EQ(run.at_rest(0), "");
}

TEST(Coordination, LeavesSomebodyAtWork) {
  Exchange run;
  EXPECT_EQ(run.at_rest(2), "");
  run.then(server::AbandonInput{id(kA, 1)}, {});
  EXPECT_EQ(run.at_rest(2), "");
  run.then(server::AbandonInput{id(kB, 2)}, {});
  EXPECT_EQ(run.at_rest(2), "I5");
}

TEST(Coordination, HandsOutTheVersionThatCountsTheSteps) {
  EXPECT_EQ(Exchange().update().broken_by(PushInput{id(kB, 2), 4, true},
                                          {verdict(kB, 2, kDropped), release(kB, 4, 0, 4)}),
            "I10");
}

TEST(Coordination, UsesNothingOfAGradientThatIsNotFinite) {
  const Input push = PushInput{id(kA, 1), 4, false};
  EXPECT_EQ(Exchange().broken_by(push, {Forget{kA}, verdict(kA, 1, kRefused)}), "");
  EXPECT_EQ(Exchange().broken_by(push, {accepts(kA, 1)}), "I12");
  EXPECT_EQ(Exchange().broken_by(push, {verdict(kA, 1, kDropped)}), "I12");
}

TEST(Coordination, UsesNothingOfAGradientThatIsFiltered) {
  const Input push = PushInput{id(kA, 1), 4, true, true};
  EXPECT_EQ(Exchange().broken_by(push, {Forget{kA}, verdict(kA, 1, kDropped)}), "");
  EXPECT_EQ(Exchange().broken_by(push, {accepts(kA, 1)}), "I12");
}

TEST(Coordination, StepsWithFiniteNumbers) {
  const Input push = PushInput{id(kA, 1), 4, true};
  EXPECT_EQ(Exchange().broken_by(push, {accepts(kA, 1, -0.5)}), "I17");
  EXPECT_EQ(
      Exchange().broken_by(push, {accepts(kA, 1), verdict(kA, 1, kAccepted), StepWeights{NAN}}),
      "I17");
}

}  // namespace
}  // namespace outpace::invariants
