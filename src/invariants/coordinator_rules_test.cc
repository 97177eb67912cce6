#include "invariants/coordinator_rules.h"

#include <cmath>

#include <gtest/gtest.h>

#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

using server::Effects;
using server::Forget;
using server::Send;
using server::StepWeights;
using server::TakeUp;
using server::Told;
using server::ToldJoin;
using server::ToldLeave;
using server::ToldPush;
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
TakeUp take_up(WorkerId worker, std::uint64_t sequence, double weight = 1.0) {
  return {worker, Sequence{sequence}, weight, 4};
}

class Exchange {
 public:
  Exchange() : coordination_(2, std::chrono::seconds(5)) {
    then(ToldJoin{kA, 1}, {release(kA, 1, 0, 0)});
    then(ToldJoin{kB, 1}, {release(kB, 2, 0, 4)});
  }

  Exchange& then(const Told& told, const Effects& effects, std::uint64_t decisions = 0) {
    coordination_.check(now_, told, decisions, effects);
    return *this;
  }
  // The first gradient of A is an update, and A computes again.
  Exchange& update() {
    return then(
        ToldPush{id(kA, 1), 4, true},
        {take_up(kA, 1), verdict(kA, 1, kAccepted), StepWeights{0.1}, release(kA, 3, 1, 8)});
  }
  // The invariant that this breaks; empty if none.
  std::string broken_by(const Told& told, const Effects& effects, std::uint64_t decisions = 0) {
    try {
      then(told, effects, decisions);
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
  const Told push = ToldPush{id(kA, 1), 4, true};
  EXPECT_EQ(Exchange().broken_by(push, {take_up(kA, 1), take_up(kA, 1)}), "I1");
  EXPECT_EQ(Exchange().broken_by(push, {take_up(kB, 2)}), "I1") << "not the one that came";
  EXPECT_EQ(Exchange().broken_by(push, {}), "I1") << "no verdict";
  EXPECT_EQ(Exchange().broken_by(push, {verdict(kA, 1, kAccepted)}), "I1") << "and not taken up";
  EXPECT_EQ(Exchange().broken_by(push, {take_up(kA, 1), verdict(kA, 1, kDropped)}), "I1");
  EXPECT_EQ(Exchange().broken_by(server::ToldOther{}, {StepWeights{0.1}}), "I1") << "of nothing";
}

TEST(Coordination, GivesARepeatedGradientItsFirstVerdictAndNoMore) {
  const Told push = ToldPush{id(kA, 1), 4, true};
  EXPECT_EQ(Exchange().update().broken_by(push, {verdict(kA, 1, kAccepted), Forget{kA}}), "");
  EXPECT_EQ(Exchange().update().broken_by(push, {Forget{kA}}), "");
  EXPECT_EQ(Exchange().update().broken_by(push, {verdict(kA, 1, kDropped)}), "I1");
  EXPECT_EQ(Exchange().update().broken_by(push, {take_up(kA, 1)}), "I1");
  EXPECT_EQ(Exchange().update().broken_by(push, {}, /*decisions=*/1), "I1");
}

TEST(Coordination, HandsAnExampleToOneWorkerOnce) {
  Exchange out;
  EXPECT_EQ(out.broken_by(ToldPush{id(kA, 1), 4, true},
                          {take_up(kA, 1), verdict(kA, 1, kAccepted), release(kA, 3, 0, 6)}),
            "I1")
      << "6 and 7 are with B";
  Exchange used;
  EXPECT_EQ(used.broken_by(ToldPush{id(kA, 1), 4, true},
                           {take_up(kA, 1), verdict(kA, 1, kAccepted), release(kA, 3, 0, 0)}),
            "I1");
  Exchange dropped;
  EXPECT_EQ(dropped.broken_by(ToldPush{id(kA, 1), 4, true},
                              {verdict(kA, 1, kDropped), release(kA, 3, 0, 0)}),
            "");
  Exchange dead;
  EXPECT_EQ(dead.then(ToldLeave{kB, 1}, {})
                .broken_by(ToldPush{id(kA, 1), 4, true},
                           {verdict(kA, 1, kDropped), release(kA, 3, 0, 4)}),
            "");
}

TEST(Coordination, LetsNoOldIncarnationChangeAnything) {
  Exchange run;
  run.then(ToldJoin{kA, 2}, {release(kA, 3, 0, 0)});
  EXPECT_EQ(run.broken_by(ToldLeave{kA, 1}, {}), "");
  EXPECT_EQ(run.broken_by(ToldPush{id(kA, 1, 1), 4, true}, {Forget{kA}}), "");
  EXPECT_EQ(run.broken_by(ToldLeave{kA, 1}, {}, /*decisions=*/1), "I7");
  EXPECT_EQ(run.broken_by(ToldPush{id(kA, 3, 1), 4, true}, {take_up(kA, 3)}), "I7");
}

TEST(Coordination, SendsNothingToTheDeadAndCountsTheLiving) {
  Exchange run;
  run.then(ToldLeave{kB, 1}, {});
  EXPECT_EQ(run.at_rest(1), "");
  EXPECT_EQ(run.at_rest(2), "I6");
  EXPECT_EQ(run.broken_by(server::ToldOther{}, {release(kB, 3, 0, 4)}), "I6");
}

TEST(Coordination, CountsNobodyAsLiveWhoIsSilentForTooLong) {
  Exchange exchange;
  exchange.wait(std::chrono::seconds(4)).then(server::ToldHeard{kA, 1}, {});
  EXPECT_EQ(exchange.wait(std::chrono::seconds(1)).at_rest(2), "");
  EXPECT_EQ(exchange.wait(Duration{1}).at_rest(2), "I6") << "B";
  exchange.then(server::ToldOther{},
                {server::Disconnect{kB, {protocol::Farewell::kPresumedDead, ""}}});
  EXPECT_EQ(exchange.at_rest(1), "");
  exchange.then(server::ToldHeard{kA, 0}, {});
  EXPECT_EQ(exchange.wait(std::chrono::seconds(4)).at_rest(1), "I6")
      << "an old incarnation does not count";
}

TEST(Coordination, LeavesSomebodyAtWork) {
  Exchange run;
  EXPECT_EQ(run.at_rest(2), "");
  run.then(server::ToldAbandoned{id(kA, 1)}, {});
  EXPECT_EQ(run.at_rest(2), "");
  run.then(server::ToldAbandoned{id(kB, 2)}, {});
  EXPECT_EQ(run.at_rest(2), "I5");
}

TEST(Coordination, HandsOutTheVersionThatCountsTheSteps) {
  EXPECT_EQ(Exchange().update().broken_by(ToldPush{id(kB, 2), 4, true},
                                          {verdict(kB, 2, kDropped), release(kB, 4, 0, 4)}),
            "I10");
}

TEST(Coordination, UsesNothingOfAGradientThatIsNotFinite) {
  const Told push = ToldPush{id(kA, 1), 4, false};
  EXPECT_EQ(Exchange().broken_by(push, {Forget{kA}, verdict(kA, 1, kRefused)}), "");
  EXPECT_EQ(Exchange().broken_by(push, {take_up(kA, 1)}), "I12");
  EXPECT_EQ(Exchange().broken_by(push, {verdict(kA, 1, kDropped)}), "I12");
}

TEST(Coordination, UsesNothingOfAGradientThatIsFiltered) {
  const Told push = ToldPush{id(kA, 1), 4, true, true};
  EXPECT_EQ(Exchange().broken_by(push, {Forget{kA}, verdict(kA, 1, kDropped)}), "");
  EXPECT_EQ(Exchange().broken_by(push, {take_up(kA, 1)}), "I12");
}

TEST(Coordination, StepsWithFiniteNumbers) {
  const Told push = ToldPush{id(kA, 1), 4, true};
  EXPECT_EQ(Exchange().broken_by(push, {take_up(kA, 1, -0.5)}), "I17");
  EXPECT_EQ(
      Exchange().broken_by(push, {take_up(kA, 1), verdict(kA, 1, kAccepted), StepWeights{NAN}}),
      "I17");
}

}  // namespace
}  // namespace outpace::invariants
