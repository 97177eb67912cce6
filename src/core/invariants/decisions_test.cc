#include "invariants/decisions.h"

#include <gtest/gtest.h>

#include "invariants/violation.h"
#include "policy/auto_candidates.h"

namespace outpace::invariants {
namespace {

using policy::Accept;
using policy::Action;
using policy::Commit;
using policy::Drop;
using policy::Event;
using policy::Release;
using policy::Why;

constexpr WorkerId kZero{0};
constexpr WorkerId kOne{1};

Event joined(WorkerId worker) {
  return policy::WorkerJoined{worker};
}
Event left(WorkerId worker) {
  return policy::WorkerLeft{worker, policy::Departure::kDead};
}
Event arrived(WorkerId worker, std::uint64_t release, std::uint64_t version) {
  return policy::GradientArrived{.worker = worker,
                                 .release = Sequence{release},
                                 .computed_on = Version{version},
                                 .examples = 4,
                                 .nominal = 4,
                                 .partial = false,
                                 .runtime = Duration{100}};
}
Action accept(WorkerId worker, std::uint64_t release, double weight = 1.0) {
  return Accept{worker, Sequence{release}, weight};
}

class Log {
 public:
  explicit Log(const std::string& policy, const policy::PolicyInputs& inputs = {})
      : decisions_(Spec::parse(policy), 2, inputs) {}

  Log& then(const Event& event, const std::vector<Action>& actions) {
    decisions_.check(Time{}, event, actions);
    return *this;
  }
  // The invariant that this breaks; empty if none.
  std::string broken_by(const Event& event, const std::vector<Action>& actions) {
    try {
      then(event, actions);
    } catch (const Violation& violation) {
      return violation.invariant();
    }
    return "";
  }

 private:
  Decisions decisions_;
};

// Both workers have joined and compute.
Log both(const std::string& policy) {
  Log log(policy);
  log.then(joined(kZero), {Release{kZero}}).then(joined(kOne), {Release{kOne}});
  return log;
}

TEST(Decisions, ThatAreRightPass) {
  Log log = both("async");
  EXPECT_EQ(log.broken_by(arrived(kZero, 1, 5), {accept(kZero, 1), Commit{}, Release{kZero}}), "");
  EXPECT_EQ(log.broken_by(arrived(kOne, 2, 5), {accept(kOne, 2), Commit{}, Release{kOne}}), "");
  EXPECT_EQ(log.broken_by(left(kZero), {}), "");
  EXPECT_EQ(log.broken_by(arrived(kOne, 3, 7), {accept(kOne, 3), Commit{}, Release{kOne}}), "");
}

TEST(Decisions, GiveEachGradientOneVerdict) {
  EXPECT_EQ(both("async").broken_by(arrived(kZero, 1, 0), {Release{kZero}}), "I1");
  EXPECT_EQ(
      both("async").broken_by(arrived(kZero, 1, 0), {accept(kZero, 1), accept(kZero, 1), Commit{}}),
      "I1");
  EXPECT_EQ(both("async").broken_by(arrived(kZero, 1, 0), {accept(kOne, 2), Commit{}}), "I1");
  EXPECT_EQ(both("async").broken_by(arrived(kZero, 1, 0), {Commit{}}), "I1");
  EXPECT_EQ(both("async").broken_by(joined(WorkerId{2}), {Release{kZero}}), "I1") << "two open";
}

TEST(Decisions, OfARoundApplyNothingOfAnOlderOne) {
  Log log = both("backup:cutoff=1");
  log.then(arrived(kZero, 1, 0), {accept(kZero, 1), Commit{}, Release{kZero}});
  EXPECT_EQ(log.broken_by(arrived(kOne, 2, 0), {accept(kOne, 2), Commit{}, Release{kOne}}), "I3");
}

TEST(Decisions, KeepTheBoundsOfSspAndSaps) {
  const std::vector<Action> counts{accept(kZero, 1), Commit{}, Release{kZero}};
  Log ssp = both("ssp:1");
  ssp.then(arrived(kZero, 1, 0), counts);
  EXPECT_EQ(ssp.broken_by(arrived(kZero, 1, 1), counts), "I3") << "clock 2 beside clock 0";
  Log saps = both("saps:s=1,action=refresh");
  saps.then(arrived(kZero, 1, 0), counts).then(arrived(kZero, 1, 1), counts);
  EXPECT_EQ(saps.broken_by(arrived(kOne, 2, 0), {accept(kOne, 2), Commit{}, Release{kOne}}), "I3");
  Log of_two = both("saps:action=refresh");  // s = 2 (2 - 1)
  of_two.then(arrived(kZero, 1, 0), counts).then(arrived(kZero, 1, 1), counts);
  EXPECT_EQ(of_two.broken_by(arrived(kOne, 2, 0), {accept(kOne, 2), Commit{}, Release{kOne}}), "");
  for (const std::uint64_t version : {2U, 4U, 5U}) {
    of_two.then(arrived(kZero, 1, version), counts);
  }
  EXPECT_EQ(of_two.broken_by(arrived(kOne, 2, 3), {accept(kOne, 2), Commit{}, Release{kOne}}),
            "I3");
  Log dampen = both("saps:s=1,action=dampen");
  dampen.then(arrived(kZero, 1, 0), counts).then(arrived(kZero, 1, 1), counts);
  EXPECT_EQ(dampen.broken_by(arrived(kOne, 2, 0), {accept(kOne, 2, 0.5), Commit{}, Release{kOne}}),
            "");
}

TEST(Decisions, LeaveSomebodyAtWorkOrATimer) {
  Log log("async");
  EXPECT_EQ(log.broken_by(joined(kZero), {}), "I5");
  Log timed("async");
  EXPECT_EQ(timed.broken_by(joined(kZero), {policy::WakeAt{Time{}}}), "");
  EXPECT_EQ(timed.broken_by(policy::TimerFired{}, {}), "I5");
}

TEST(Decisions, WaitForNobodyThatIsGone) {
  Log log = both("sync");
  log.then(arrived(kZero, 1, 0), {accept(kZero, 1)});
  EXPECT_EQ(log.broken_by(left(kOne), {}), "I6");
  EXPECT_EQ(both("async").then(left(kOne), {}).broken_by(arrived(kOne, 2, 0), {}), "I6");
  EXPECT_EQ(both("async").then(left(kOne), {}).broken_by(joined(WorkerId{2}), {Release{kOne}}),
            "I6");
}

TEST(Decisions, NameVersionsThatCountTheCommits) {
  Log log = both("async");
  log.then(arrived(kZero, 1, 7), {accept(kZero, 1), Commit{}, Release{kZero}});
  EXPECT_EQ(log.broken_by(arrived(kOne, 2, 8), {accept(kOne, 2), Commit{}, Release{kOne}}), "I10");
}

TEST(Decisions, KeepWeightsSharesAndCutoffsInTheirBounds) {
  EXPECT_EQ(both("async").broken_by(arrived(kZero, 1, 0), {accept(kZero, 1, 1.5), Commit{}}),
            "I17");
  EXPECT_EQ(both("async").broken_by(arrived(kZero, 1, 0), {accept(kZero, 1, -1.0), Commit{}}),
            "I17");
  EXPECT_EQ(Log("async").broken_by(joined(kZero), {Release{kZero, 0.0}}), "I17");
  // One of two splits is one gradient.
  EXPECT_EQ(
      both("softsync:n=2").broken_by(arrived(kZero, 1, 0), {accept(kZero, 1), Release{kZero}}),
      "I17");
  EXPECT_EQ(both("sync").broken_by(arrived(kZero, 1, 0), {accept(kZero, 1), Commit{}}), "I17")
      << "B has not answered";
}

TEST(Decisions, LetMiniBatchesBeLargerOnlyWhereTheyAreBalanced) {
  const auto phases = policy::phases_of(Spec::parse("auto"));
  const auto balanced = static_cast<std::uint32_t>(phases.size() - 1);
  ASSERT_TRUE(phases.at(balanced).balance);
  const auto over = [](std::uint32_t to, double share, const policy::PolicyInputs& inputs = {}) {
    Log log("auto", inputs);
    log.then(joined(kZero), {Release{kZero}});
    return log.broken_by(arrived(kZero, 1, 0),
                         {accept(kZero, 1), Commit{}, policy::Switched{to}, Release{kZero, share}});
  };
  EXPECT_EQ(over(balanced, policy::kAutoBalance.most), "");
  EXPECT_EQ(over(balanced, policy::kAutoBalance.most + 0.1), "I17");
  EXPECT_EQ(over(balanced, 3.0, {.may_balance = {.most = 3.0}}), "");
  EXPECT_EQ(over(balanced, 1.1, {.may_balance = {.most = 1.0}}), "I17");
  EXPECT_EQ(over(0, 1.5), "I17");
}

TEST(Decisions, HandOverWhenNobodyComputesAndNothingWaits) {
  const std::string spec = "switch(kbatchasync:k=2 until updates>0 then ssp:s=0)";
  const policy::Switched seam{1};
  Log alone(spec);
  alone.then(joined(kZero), {Release{kZero}});
  EXPECT_EQ(alone.broken_by(arrived(kZero, 1, 0), {accept(kZero, 1), seam, Release{kZero}}), "I18")
      << "one waits for an update";
  EXPECT_EQ(both(spec).broken_by(arrived(kZero, 1, 0), {accept(kZero, 1), Commit{}, seam}), "I18")
      << "the other computes";
  Log log = both(spec);
  log.then(arrived(kZero, 1, 0), {accept(kZero, 1)});
  log.then(arrived(kOne, 2, 0), {accept(kOne, 2), Commit{}, seam, Release{kZero}, Release{kOne}});
  EXPECT_EQ(log.broken_by(arrived(kZero, 3, 1), {accept(kZero, 3), Commit{}, Release{kZero}}), "I3")
      << "from the seam on the rules are ssp's";
}

TEST(Decisions, MayCommitLessAtTheSeamAlone) {
  const auto one = [] {
    Log log("kbatchasync:k=2");
    log.then(joined(kZero), {Release{kZero}}).then(policy::PolicySet{"async"}, {});
    return log;
  };
  const Event gradient = arrived(kZero, 1, 0);
  EXPECT_EQ(one().broken_by(gradient, {accept(kZero, 1), Commit{}, Release{kZero}}), "I17");
  EXPECT_EQ(
      one().broken_by(gradient, {accept(kZero, 1), Commit{}, policy::Switched{0}, Release{kZero}}),
      "");
  EXPECT_EQ(
      one().broken_by(gradient, {accept(kZero, 1), Commit{}, policy::Switched{1}, Release{kZero}}),
      "I18");
}

}  // namespace
}  // namespace outpace::invariants
