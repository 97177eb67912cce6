#include "record/policy_replay.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/spec.h"
#include "base/temporary_directory_test.h"
#include "policy/catalogue.h"

namespace outpace::record {
namespace {

class ReplayTest : public testing::Test {
 protected:
  // Two workers: in turn, each answers and is released again. The forged gradient's
  // decision lacks an action; the skewed one names a version that its worker never had.
  void record(const std::string& spec,
              std::uint64_t gradients,
              std::uint64_t forged = UINT64_MAX,
              std::uint64_t skewed = UINT64_MAX) {
    DecisionLogWriter log(path_, {.policy = spec, .workers = 2});
    const auto policy = policy::make_policy(Spec::parse(spec), 2);
    policy::Decision decision;
    const auto tell = [&](std::uint64_t at, const policy::Event& event, bool forge) {
      const Time now{Duration{static_cast<std::int64_t>(at)}};
      policy->decide(now, event, decision);
      if (forge) {
        decision.actions.pop_back();
      }
      log.append(now, event, decision);
    };
    tell(0, policy::WorkerJoined{WorkerId{0}}, false);
    tell(0, policy::WorkerJoined{WorkerId{1}}, false);
    for (std::uint64_t i = 0; i < gradients; ++i) {
      tell(100 * (i + 1),
           policy::GradientArrived{
               .worker = WorkerId{static_cast<std::uint32_t>(i % 2)},
               .release = Sequence{i + 1},
               .computed_on = Version{(i == 0 ? 0 : i - 1) + (i == skewed ? 1 : 0)},
               .examples = 4,
               .nominal = 4,
               .partial = false,
               .runtime = Duration{100}},
           i == forged);
    }
    log.close();
  }

  const TemporaryDirectory folder_;
  const std::filesystem::path path_ = folder_ / "decisions.jsonl";
};

TEST_F(ReplayTest, GivesTheSameDecisions) {
  record("async", 20);
  const Replay found = replay(RunDirectory::open(path_.parent_path()));
  EXPECT_EQ(found.decisions, 22U);
  EXPECT_FALSE(found.difference.has_value());
  EXPECT_TRUE(found.cut_short.empty());
  EXPECT_EQ(found.header.policy, "async");
}

TEST_F(ReplayTest, RefusesAnEventThatCannotCome) {
  record("async", 20);
  std::string log = contents(path_);
  const std::size_t first = log.find("gradient_arrived");
  const std::size_t worker = log.find(R"("worker":0)", first);
  for (const char* const stranger : {R"("worker":7)", R"("worker":999999)"}) {
    put(path_, std::string(log).replace(worker, 10, stranger));
    const Replay found = replay(RunDirectory::open(path_.parent_path()));
    EXPECT_EQ(found.decisions, 2U);
    ASSERT_TRUE(found.broken) << stranger;
    EXPECT_EQ(found.broken->line, 4U);
    EXPECT_NE(found.broken->what.find("cannot come"), std::string::npos);
  }
}

TEST_F(ReplayTest, EndsAtAGapAndSaysSo) {
  record("async", 20);
  std::string log = contents(path_);
  // Two lines of the middle could not be written.
  std::size_t begin = 0;
  for (int line = 0; line < 10; ++line) {
    begin = log.find('\n', begin) + 1;
  }
  const std::size_t end = log.find('\n', log.find('\n', begin) + 1) + 1;
  put(path_, log.replace(begin, end - begin, std::string(kDecisionGap) + "\n"));
  const Replay found = replay(RunDirectory::open(path_.parent_path()));
  EXPECT_EQ(found.decisions, 9U);
  EXPECT_FALSE(found.difference.has_value());
  EXPECT_NE(found.gap.find("decisions.jsonl:11: a gap"), std::string::npos) << found.gap;
}

TEST_F(ReplayTest, GivesTheSameSizesOfBalancedMiniBatches) {
  const policy::BalanceOptions balance{.most = 3.0};
  std::string recorded;
  {
    DecisionLogWriter log(path_, {.policy = "async", .workers = 2, .balance = balance});
    const auto policy = policy::make_policy(Spec::parse("async"), 2, {.balance = balance});
    policy::Decision decision;
    const auto tell = [&](std::int64_t at, const policy::Event& event) {
      policy->decide(Time{Duration{at}}, event, decision);
      log.append(Time{Duration{at}}, event, decision);
      recorded += to_text(decision.actions);
    };
    tell(0, policy::WorkerJoined{WorkerId{0}});
    tell(0, policy::WorkerJoined{WorkerId{1}});
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto worker = static_cast<std::uint32_t>(i % 2);
      tell(static_cast<std::int64_t>(100 * (i + 3)),
           policy::GradientArrived{.worker = WorkerId{worker},
                                   .release = Sequence{i + 1},
                                   .computed_on = Version{i == 0 ? 0 : i - 1},
                                   .examples = 4,
                                   .nominal = 4,
                                   .partial = false,
                                   .runtime = Duration{worker == 0 ? 100 : 300}});
    }
    log.close();
  }
  EXPECT_NE(recorded.find(R"("share":1.5)"), std::string::npos) << recorded;
  const Replay found = replay(RunDirectory::open(path_.parent_path()));
  EXPECT_EQ(found.decisions, 22U);
  EXPECT_FALSE(found.difference.has_value());
  EXPECT_FALSE(found.broken.has_value());
  EXPECT_EQ(found.header.balance, balance);
}

TEST_F(ReplayTest, ShowsTheFirstDifference) {
  record("async", 20, /*forged=*/7);
  const Replay found = replay(RunDirectory::open(path_.parent_path()));
  EXPECT_EQ(found.decisions, 9U);
  ASSERT_TRUE(found.difference.has_value());
  EXPECT_EQ(found.difference->line, 11U);  // A header and 9 decisions before it.
  EXPECT_EQ(found.difference->now, Time{Duration{800}});
  EXPECT_NE(found.difference->event.find(R"("release":8)"), std::string::npos);
  EXPECT_EQ(found.difference->recorded,
            R"([{"type":"accept","worker":1,"release":8,"weight":1},{"type":"commit"}])");
  EXPECT_EQ(found.difference->replayed,
            R"([{"type":"accept","worker":1,"release":8,"weight":1},{"type":"commit"},)"
            R"({"type":"release","worker":1}])");
}

TEST_F(ReplayTest, FindsABrokenInvariantWhereEveryDecisionIsTheSame) {
  record("async", 20, /*forged=*/UINT64_MAX, /*skewed=*/7);
  const Replay found = replay(RunDirectory::open(path_.parent_path()));
  EXPECT_FALSE(found.difference.has_value());
  EXPECT_EQ(found.decisions, 10U);
  ASSERT_TRUE(found.broken.has_value());
  EXPECT_EQ(found.broken->line, 11U);
  EXPECT_EQ(found.broken->what.substr(0, 4), "I10:") << found.broken->what;
  record("async", 20);
  EXPECT_FALSE(replay(RunDirectory::open(path_.parent_path())).broken.has_value());
}

TEST_F(ReplayTest, LeavesOutALineThatWasCut) {
  record("async", 5);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 10);
  const Replay found = replay(RunDirectory::open(path_.parent_path()));
  EXPECT_EQ(found.decisions, 6U);
  EXPECT_EQ(found.cut_short.size(), 1U);
}

TEST_F(ReplayTest, RefusesAPolicyThatThereIsNot) {
  record("async", 1);
  std::ofstream(path_) << R"({"outpace_decisions":1,"policy":"asink","workers":2})"
                       << "\n";
  EXPECT_THROW(static_cast<void>(replay(RunDirectory::open(path_.parent_path()))), Error);
}

}  // namespace
}  // namespace outpace::record
