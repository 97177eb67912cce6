#include <cstdint>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/temporary_directory_test.h"
#include "record/chrome_trace.h"

namespace outpace::record {
namespace {

using nlohmann::json;
using policy::RecentDecisions;

Time at(std::uint64_t ms) {
  return Time{std::chrono::milliseconds(ms)};
}

// Tells both the same: a worker joins, and each of its gradients is an update.
template <typename... Told>
void run(std::uint64_t gradients, Told&... told) {
  const auto tell = [&](Time now, const policy::Event& event, const policy::Decision& decision) {
    (told(now, event, decision), ...);
  };
  constexpr WorkerId kWorker{1};
  tell(at(0), policy::WorkerJoined{kWorker}, {{policy::Release{kWorker}}, {}});
  for (std::uint64_t i = 1; i <= gradients; ++i) {
    tell(at(10 * i),
         policy::GradientArrived{.worker = kWorker,
                                 .release = Sequence{i},
                                 .computed_on = Version{i - 1},
                                 .examples = 32,
                                 .nominal = 32,
                                 .partial = false,
                                 .runtime = std::chrono::milliseconds(10)},
         {{policy::Accept{kWorker, Sequence{i}, 1.0}, policy::Commit{}, policy::Release{kWorker}},
          {.why = policy::Why::kEachCounts}});
  }
}

auto into(RecentDecisions& recent) {
  return [&recent](Time now, const policy::Event& event, const policy::Decision& decision) {
    recent.add(now, event, {.actions = decision.actions, .reason = decision.reason});
  };
}

TEST(TraceOfRecent, GiveTheTraceThatAFileWouldHaveWhileAllOfThemAreKept) {
  RecentDecisions recent;
  auto add = into(recent);
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "trace.json";
  ChromeTrace file(path, "async");
  auto append = [&file](Time now, const policy::Event& event, const policy::Decision& decision) {
    file.append(now, event, decision);
  };
  run(RecentDecisions::kPart + 5, add, append);
  file.close();
  std::ifstream written(path);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  EXPECT_EQ(trace_of(recent.keep(), "async"), text);
}

TEST(TraceOfRecent, ForgetTheOldestAndStillKnowVersionsAndTasks) {
  RecentDecisions recent;
  auto add = into(recent);
  const std::uint64_t gradients = RecentDecisions::kMost + 2500;
  run(gradients, add);
  const RecentDecisions::Parts parts = recent.keep();
  std::size_t kept = 0;
  for (const auto& part : parts) {
    kept += part->decided.size();
  }
  EXPECT_LE(kept, RecentDecisions::kMost);
  EXPECT_GT(kept, RecentDecisions::kMost - 2 * RecentDecisions::kPart);
  std::vector<json> tasks;
  std::vector<json> updates;
  for (const json& event : json::parse(trace_of(parts, "async"))) {
    if (event.at("ph") == "X" && event.at("args").value("outcome", "") != "open at the end") {
      (event.at("pid") == 0 ? updates : tasks).push_back(event);
    }
  }
  // Each decision that is kept ended a task and made an update, and tasks last 10 ms.
  EXPECT_EQ(tasks.size(), kept);
  EXPECT_EQ(updates.size(), kept);
  EXPECT_EQ(tasks.front().at("dur"), 10'000.0);
  EXPECT_EQ(tasks.front().at("args").at("staleness"), 0);
  EXPECT_EQ(updates.back().at("name"), "version " + std::to_string(gradients));
  EXPECT_EQ(updates.front().at("name"), "version " + std::to_string(gradients - kept + 1));
}

TEST(TraceOfRecent, StayAsTheyWereWhenTheyWereKept) {
  RecentDecisions recent;
  auto add = into(recent);
  run(10, add);
  const RecentDecisions::Parts before = recent.keep();
  const std::string text = trace_of(before, "async");
  run(10, add);
  EXPECT_EQ(trace_of(before, "async"), text);
  EXPECT_NE(trace_of(recent.keep(), "async"), text);
}

TEST(TraceOfRecent, OfNoDecisionIsATraceOfAServerAlone) {
  EXPECT_EQ(json::parse(trace_of({}, "a \"b\"")).size(), 1);
}

}  // namespace
}  // namespace outpace::record
