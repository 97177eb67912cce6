#include "invariants/decisions.h"

#include <gtest/gtest.h>

#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

using policy::Accept;
using policy::Action;
using policy::Commit;
using policy::Drop;
using policy::Event;
using policy::Release;
using policy::Why;

constexpr WorkerId kA{0};
constexpr WorkerId kB{1};

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
  explicit Log(const std::string& policy) : decisions_(Spec::parse(policy), 2) {}

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
  log.then(joined(kA), {Release{kA}}).then(joined(kB), {Release{kB}});
  return log;
}

TEST(Decisions, ThatAreRightPass) {
  Log log = both("async");
  EXPECT_EQ(log.broken_by(arrived(kA, 1, 5), {accept(kA, 1), Commit{}, Release{kA}}), "");
  EXPECT_EQ(log.broken_by(arrived(kB, 2, 5), {accept(kB, 2), Commit{}, Release{kB}}), "");
  EXPECT_EQ(log.broken_by(left(kA), {}), "");
  EXPECT_EQ(log.broken_by(arrived(kB, 3, 7), {accept(kB, 3), Commit{}, Release{kB}}), "");
}

TEST(Decisions, GiveEachGradientOneVerdict) {
  EXPECT_EQ(both("async").broken_by(arrived(kA, 1, 0), {Release{kA}}), "I1");
  EXPECT_EQ(both("async").broken_by(arrived(kA, 1, 0), {accept(kA, 1), accept(kA, 1), Commit{}}),
            "I1");
  EXPECT_EQ(both("async").broken_by(arrived(kA, 1, 0), {accept(kB, 2), Commit{}}), "I1");
  EXPECT_EQ(both("async").broken_by(arrived(kA, 1, 0), {Commit{}}), "I1");
  EXPECT_EQ(both("async").broken_by(joined(WorkerId{2}), {Release{kA}}), "I1") << "two open";
}

TEST(Decisions, OfARoundApplyNothingOfAnOlderOne) {
  Log log = both("backup:cutoff=1");
  log.then(arrived(kA, 1, 0), {accept(kA, 1), Commit{}, Release{kA}});
  EXPECT_EQ(log.broken_by(arrived(kB, 2, 0), {accept(kB, 2), Commit{}, Release{kB}}), "I3");
}

TEST(Decisions, KeepTheBoundsOfSspAndSaps) {
  const std::vector<Action> counts{accept(kA, 1), Commit{}, Release{kA}};
  Log ssp = both("ssp:1");
  ssp.then(arrived(kA, 1, 0), counts);
  EXPECT_EQ(ssp.broken_by(arrived(kA, 1, 1), counts), "I3") << "clock 2 beside clock 0";
  Log saps = both("saps:s=1,action=refresh");
  saps.then(arrived(kA, 1, 0), counts).then(arrived(kA, 1, 1), counts);
  EXPECT_EQ(saps.broken_by(arrived(kB, 2, 0), {accept(kB, 2), Commit{}, Release{kB}}), "I3");
  Log dampen = both("saps:s=1,action=dampen");
  dampen.then(arrived(kA, 1, 0), counts).then(arrived(kA, 1, 1), counts);
  EXPECT_EQ(dampen.broken_by(arrived(kB, 2, 0), {accept(kB, 2, 0.5), Commit{}, Release{kB}}), "");
}

TEST(Decisions, LeaveSomebodyAtWorkOrATimer) {
  Log log("async");
  EXPECT_EQ(log.broken_by(joined(kA), {}), "I5");
  Log timed("async");
  EXPECT_EQ(timed.broken_by(joined(kA), {policy::WakeAt{Time{}}}), "");
  EXPECT_EQ(timed.broken_by(policy::TimerFired{}, {}), "I5");
}

TEST(Decisions, WaitForNobodyThatIsGone) {
  Log log = both("sync");
  log.then(arrived(kA, 1, 0), {accept(kA, 1)});
  EXPECT_EQ(log.broken_by(left(kB), {}), "I6");
  EXPECT_EQ(both("async").then(left(kB), {}).broken_by(arrived(kB, 2, 0), {}), "I6");
  EXPECT_EQ(both("async").then(left(kB), {}).broken_by(joined(WorkerId{2}), {Release{kB}}), "I6");
}

TEST(Decisions, NameVersionsThatCountTheCommits) {
  Log log = both("async");
  log.then(arrived(kA, 1, 7), {accept(kA, 1), Commit{}, Release{kA}});
  EXPECT_EQ(log.broken_by(arrived(kB, 2, 8), {accept(kB, 2), Commit{}, Release{kB}}), "I10");
}

TEST(Decisions, KeepWeightsSharesAndCutoffsInTheirBounds) {
  EXPECT_EQ(both("async").broken_by(arrived(kA, 1, 0), {accept(kA, 1, 1.5), Commit{}}), "I17");
  EXPECT_EQ(both("async").broken_by(arrived(kA, 1, 0), {accept(kA, 1, -1.0), Commit{}}), "I17");
  EXPECT_EQ(Log("async").broken_by(joined(kA), {Release{kA, 0.0}}), "I17");
  // One of two splits is one gradient.
  EXPECT_EQ(both("softsync:n=2").broken_by(arrived(kA, 1, 0), {accept(kA, 1), Release{kA}}), "I17");
  EXPECT_EQ(both("sync").broken_by(arrived(kA, 1, 0), {accept(kA, 1), Commit{}}), "I17")
      << "B has not answered";
}

}  // namespace
}  // namespace outpace::invariants
