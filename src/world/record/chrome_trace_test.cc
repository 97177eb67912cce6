#include "record/chrome_trace.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

Time at(int ms) {
  return Time{milliseconds(ms)};
}
policy::GradientArrived gradient(std::uint32_t worker, std::uint64_t release, Version on, int ms) {
  return {.worker = WorkerId{worker},
          .release = Sequence{release},
          .computed_on = on,
          .examples = 32,
          .nominal = 32,
          .partial = false,
          .runtime = milliseconds(ms)};
}

class ChromeTraceTest : public testing::Test {
 protected:
  // The events of the trace that `tell` makes.
  template <typename Tell>
  std::vector<json> events(Tell tell) {
    const std::filesystem::path path = directory_.path() / "trace.json";
    ChromeTrace trace(path, "async");
    tell(trace);
    trace.close();
    std::ifstream file(path);
    return json::parse(file).get<std::vector<json>>();
  }
  static std::vector<json> of_kind(const std::vector<json>& events, const std::string& kind) {
    std::vector<json> found;
    for (const json& event : events) {
      if (event.at("ph") == kind) {
        found.push_back(event);
      }
    }
    return found;
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(ChromeTraceTest, ShowsATaskFromItsReleaseToItsArrivalAndTheUpdateThatUsedIt) {
  const auto all = events([](ChromeTrace& trace) {
    trace.append(at(1), policy::WorkerJoined{WorkerId{3}}, {{policy::Release{WorkerId{3}}}, {}});
    trace.append(at(11),
                 gradient(3, 7, Version{0}, 10),
                 {{policy::Accept{WorkerId{3}, Sequence{7}, 1.0},
                   policy::Commit{},
                   policy::Release{WorkerId{3}}},
                  {}});
  });
  const auto slices = of_kind(all, "X");
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(slices[0].at("pid"), 4);
  EXPECT_EQ(slices[0].at("name"), "version 0");
  EXPECT_EQ(slices[0].at("ts"), 1000.0);
  EXPECT_EQ(slices[0].at("dur"), 10000.0);
  EXPECT_EQ(slices[0].at("args").at("outcome"), "accepted");
  EXPECT_EQ(slices[0].at("args").at("examples"), 32);
  EXPECT_EQ(slices[1].at("pid"), 0) << "the update";
  EXPECT_EQ(slices[1].at("name"), "version 1");
  EXPECT_EQ(slices[1].at("args").at("gradients"), 1);
  EXPECT_EQ(slices[2].at("args").at("outcome"), "open at the end");

  const auto tails = of_kind(all, "s");
  const auto heads = of_kind(all, "f");
  ASSERT_EQ(tails.size(), 1U);
  ASSERT_EQ(heads.size(), 1U);
  EXPECT_EQ(tails[0].at("id"), heads[0].at("id"));
  EXPECT_LT(tails[0].at("ts"), 11000.0) << "within the slice";
  EXPECT_EQ(heads[0].at("ts"), 11000.0);
}

TEST_F(ChromeTraceTest, SaysHowTasksEndThatAreNotAccepted) {
  const auto all = events([](ChromeTrace& trace) {
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      trace.append(
          at(0), policy::WorkerJoined{WorkerId{worker}}, {{policy::Release{WorkerId{worker}}}, {}});
    }
    trace.append(at(5),
                 gradient(0, 1, Version{0}, 5),
                 {{policy::Drop{WorkerId{0}, Sequence{1}, policy::Why{}}}, {}});
    trace.append(
        at(6), policy::ReleaseEnded{WorkerId{1}, Sequence{2}, policy::Ending::kAbandoned}, {});
    trace.append(at(7), policy::WorkerLeft{WorkerId{2}, policy::Departure::kDead}, {});
    trace.append(at(8), policy::WorkerLeft{WorkerId{1}, policy::Departure::kLeft}, {});
  });
  std::map<int, std::string> outcomes;
  for (const json& slice : of_kind(all, "X")) {
    EXPECT_TRUE(outcomes.emplace(slice.at("pid"), slice.at("args").at("outcome")).second)
        << "a task ends once";
  }
  EXPECT_EQ(outcomes[1].rfind("dropped: ", 0), 0U) << outcomes[1];
  EXPECT_EQ(outcomes[2], "abandoned");
  EXPECT_EQ(outcomes[3], "dead");
  EXPECT_TRUE(of_kind(all, "s").empty()) << "no arrow to an update";
}

TEST_F(ChromeTraceTest, CountsWhoLivesAndHowStaleGradientsAre) {
  const auto all = events([](ChromeTrace& trace) {
    trace.append(at(0), policy::WorkerJoined{WorkerId{0}}, {{policy::Release{WorkerId{0}}}, {}});
    trace.append(at(0), policy::WorkerJoined{WorkerId{1}}, {{policy::Release{WorkerId{1}}}, {}});
    const auto take = [](std::uint32_t worker, std::uint64_t release) {
      return policy::Decision{
          {policy::Accept{WorkerId{worker}, Sequence{release}, 1.0}, policy::Commit{}}, {}};
    };
    trace.append(at(4), gradient(0, 1, Version{0}, 4), take(0, 1));
    trace.append(at(5), gradient(1, 2, Version{0}, 5), take(1, 2));
    trace.append(at(6), policy::WorkerLeft{WorkerId{0}, policy::Departure::kLeft}, {});
  });
  std::map<std::string, std::vector<double>> series;
  for (const json& count : of_kind(all, "C")) {
    const std::string name = count.at("name");
    series[name].push_back(count.at("args").at(name));
  }
  EXPECT_EQ(series["live workers"], (std::vector{1.0, 2.0, 1.0}));
  EXPECT_EQ(series["staleness"], (std::vector{0.0, 1.0}));
}

TEST_F(ChromeTraceTest, DrawsEachLinkWhereItsUseChanges) {
  const auto all = events([](ChromeTrace& trace) {
    trace.append_link(
        "host0.up", at(-1), milliseconds(2), std::vector{0.25, 1.0, 1.0, 0.9996, 0.0});
    trace.append_link("\"host1\".up", at(0), milliseconds(2), std::vector{0.5});
  });
  std::vector<std::tuple<std::string, double, double>> points;
  for (const json& count : of_kind(all, "C")) {
    EXPECT_EQ(count.at("pid"), 1'000'000'000);
    points.emplace_back(count.at("name"), count.at("ts"), count.at("args").at("% used"));
  }
  EXPECT_EQ(points,
            (decltype(points){{"host0.up", 0.0, 25.0},  // The run's clock begins at 0.
                              {"host0.up", 1000.0, 100.0},
                              {"host0.up", 7000.0, 0.0},
                              {"\"host1\".up", 0.0, 50.0}}));
  const auto names = of_kind(all, "M");
  ASSERT_EQ(names.size(), 3U) << "server and links, which also have a place";
  EXPECT_EQ(names[1].at("args").at("name"), "links");
}

TEST(ChromeTrace, RefusesAFileThatCannotBeWritten) {
  EXPECT_ANY_THROW(ChromeTrace("/nowhere/trace.json", "async"));
}

}  // namespace
}  // namespace outpace::record
