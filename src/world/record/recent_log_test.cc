#include "record/recent_log.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "record/decision_log.h"

namespace outpace::record {
namespace {

using namespace std::chrono_literals;

constexpr int kDecisions = 12'000;

// Every second one is an update.
void write_log(const std::filesystem::path& path, const DecisionLogOptions& options) {
  DecisionLogWriter log(path, {.policy = "async", .workers = 1}, options);
  policy::Decision decision;
  for (int i = 0; i < kDecisions; ++i) {
    decision.actions = i % 2 == 0 ? std::vector<policy::Action>{policy::Commit{}}
                                  : std::vector<policy::Action>{policy::Release{WorkerId{0}}};
    log.append(Time{1ms * (i + 1)}, policy::TimerFired{}, decision);
  }
  log.close();
}

TEST(RecentLog, HasTheNewestDecisionsAndTheirVersions) {
  const TemporaryDirectory directory;
  // As one file, and as parts of which some were removed.
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1} << 19U}) {
    write_log(directory / "decisions.jsonl", {.bytes_max = most});
    const auto parts = recent_of_log(
        directory / "decisions.jsonl", Version{std::uint64_t{kDecisions} / 2}, 200'000);
    ASSERT_FALSE(parts.empty());
    EXPECT_EQ(parts.back()->decided.back().now, Time{1ms * kDecisions});
    const auto first = parts.front()->decided.front().now.time_since_epoch() / 1ms - 1;
    EXPECT_LT(first, kDecisions - 1000);
    EXPECT_GT(first, kDecisions - 4000);
    EXPECT_EQ(count(parts.front()->begin.version), static_cast<std::uint64_t>(first + 1) / 2);
  }
  EXPECT_TRUE(recent_of_log(directory / "nothing.jsonl", Version{0}).empty());
}

}  // namespace
}  // namespace outpace::record
