#include "record/decision_log.h"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

using policy::Action;
using policy::Event;

// Numbers of every size and sign, whole ones, and the odd ones.
double any_double(Rng& rng) {
  static constexpr std::array<double, 9> kOdd{0.0,
                                              -0.0,
                                              1.0,
                                              -1.0,
                                              1e300,
                                              12345678901234567.0,
                                              std::numeric_limits<double>::denorm_min(),
                                              std::numeric_limits<double>::infinity(),
                                              -std::numeric_limits<double>::infinity()};
  switch (rng.below(3)) {
    case 0:
      return kOdd.at(rng.below(kOdd.size()));
    case 1:
      return rng.uniform();
    default: {
      const double value = std::bit_cast<double>(rng.next());
      return value == value ? value : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

// Small and the largest.
template <typename Unsigned>
Unsigned any_count(Rng& rng) {
  return rng.below(4) == 0 ? std::numeric_limits<Unsigned>::max()
                           : static_cast<Unsigned>(rng.below(1000));
}
WorkerId any_worker(Rng& rng) {
  return WorkerId{std::min(999'999U, any_count<std::uint32_t>(rng))};
}
Sequence any_release(Rng& rng) {
  return Sequence{any_count<std::uint64_t>(rng)};
}
Version any_version(Rng& rng) {
  return Version{any_count<std::uint64_t>(rng)};
}
Duration any_duration(Rng& rng) {
  return Duration{static_cast<std::int64_t>(rng.next())};
}

Event any_event(Rng& rng) {
  switch (rng.below(7)) {
    case 0:
      return policy::WorkerJoined{any_worker(rng)};
    case 1:
      return policy::WorkerLeft{any_worker(rng), static_cast<policy::Departure>(rng.below(3))};
    case 2:
      return policy::GradientArrived{
          .worker = any_worker(rng),
          .release = any_release(rng),
          .computed_on = any_version(rng),
          .examples = std::max(1U, any_count<std::uint32_t>(rng)),
          .nominal = std::max(1U, any_count<std::uint32_t>(rng)),
          .partial = rng.below(2) == 1,
          .runtime = Duration{static_cast<std::int64_t>(1 + (rng.next() >> 4U))}};
    case 3:
      return policy::ReleaseEnded{
          .worker = any_worker(rng),
          .release = any_release(rng),
          .how = static_cast<policy::Ending>(rng.below(2)),
          .runtime = Duration{rng.below(2) == 0 ? 0 : static_cast<std::int64_t>(rng.next() >> 4U)}};
    case 4:
      return policy::TimerFired{};
    case 5:
      return policy::PolicySet{rng.below(2) == 0 ? "ssp:s=3" : "a \"quoted\" \\ name"};
    default:
      return policy::Measured{
          static_cast<policy::Measure>(rng.below(4)), any_double(rng), any_version(rng)};
  }
}

Action any_action(Rng& rng) {
  switch (rng.below(7)) {
    case 0:
      return policy::Accept{any_worker(rng), any_release(rng), any_double(rng)};
    case 1:
      return policy::Drop{
          any_worker(rng), any_release(rng), static_cast<policy::Why>(rng.below(16))};
    case 2:
      return policy::Commit{};
    case 3:
      return policy::Release{any_worker(rng), rng.below(2) == 0 ? 1.0 : any_double(rng)};
    case 4:
      return policy::Cancel{any_worker(rng), rng.below(2) == 1};
    case 5:
      return policy::Switched{any_count<std::uint32_t>(rng)};
    default:
      return policy::WakeAt{Time{any_duration(rng)}};
  }
}

// Every field, in a form of its own, so that a mistake of the writer cannot hide in it.
struct Show {
  static std::string bits(double value) {
    return std::to_string(std::bit_cast<std::uint64_t>(value));
  }
  template <typename... Values>
  static std::string all(const char* name, Values... values) {
    std::string text = name;
    ((text += " " + std::to_string(values)), ...);
    return text;
  }
  std::string operator()(const policy::WorkerJoined& e) const {
    return all("joined", index(e.worker));
  }
  std::string operator()(const policy::WorkerLeft& e) const {
    return all("left", index(e.worker), static_cast<int>(e.how));
  }
  std::string operator()(const policy::GradientArrived& e) const {
    return all("arrived",
               index(e.worker),
               number(e.release),
               count(e.computed_on),
               e.examples,
               e.nominal,
               e.partial ? 1 : 0,
               e.runtime.count());
  }
  std::string operator()(const policy::ReleaseEnded& e) const {
    return all(
        "ended", index(e.worker), number(e.release), static_cast<int>(e.how), e.runtime.count());
  }
  std::string operator()(const policy::TimerFired& /*e*/) const { return "timer"; }
  std::string operator()(const policy::Measured& e) const {
    return all("measured", static_cast<int>(e.what), count(e.version)) + " " + bits(e.value);
  }
  std::string operator()(const policy::PolicySet& e) const {
    return "set " + std::string(e.policy);
  }
  std::string operator()(const policy::Switched& a) const { return all("switched", a.to); }
  std::string operator()(const policy::Accept& a) const {
    return all("accept", index(a.worker), number(a.release)) + " " + bits(a.weight);
  }
  std::string operator()(const policy::Drop& a) const {
    return all("drop", index(a.worker), number(a.release), static_cast<int>(a.why));
  }
  std::string operator()(const policy::Commit& /*a*/) const { return "commit"; }
  std::string operator()(const policy::Release& a) const {
    return all("release", index(a.worker)) + " " + bits(a.share);
  }
  std::string operator()(const policy::Cancel& a) const {
    return all("cancel", index(a.worker), a.keep_part ? 1 : 0);
  }
  std::string operator()(const policy::WakeAt& a) const {
    return all("wake", a.time.time_since_epoch().count());
  }
};

std::string show(Time now, const Event& event, const std::vector<Action>& actions) {
  std::string text = Show::all("now", now.time_since_epoch().count()) + "; ";
  text += std::visit(Show{}, event);
  for (const Action& action : actions) {
    text += "; " + std::visit(Show{}, action);
  }
  return text;
}

TEST(DecisionLog, IsALineADecision) {
  const TemporaryDirectory directory;
  DecisionLogWriter writer(directory / "d", {.policy = "backup:cutoff=6", .workers = 8});
  policy::Decision decision;
  decision.actions = {policy::Accept{WorkerId{3}, Sequence{17}, 1.0},
                      policy::Commit{},
                      policy::Release{WorkerId{3}}};
  decision.reason = {.why = policy::Why::kCutoffReached, .a = 6, .b = 8};
  writer.append(Time{Duration{1500}},
                policy::GradientArrived{.worker = WorkerId{3},
                                        .release = Sequence{17},
                                        .computed_on = Version{12},
                                        .examples = 32,
                                        .nominal = 32,
                                        .partial = false,
                                        .runtime = Duration{20'000'000}},
                decision);
  writer.close();
  EXPECT_EQ(contents(directory / "d"),
            R"({"outpace_decisions":1,"policy":"backup:cutoff=6","workers":8})"
            "\n"
            R"({"now":1500,"event":{"type":"gradient_arrived","worker":3,"release":17,)"
            R"("computed_on":12,"examples":32,"nominal":32,"partial":false,"runtime":20000000},)"
            R"("actions":[{"type":"accept","worker":3,"release":17,"weight":1},{"type":"commit"},)"
            R"({"type":"release","worker":3}],"reason":"cutoff reached: 6 of 8 live"})"
            "\n");
}

TEST(DecisionLog, GivesBackToTheBitWhatWasWritten) {
  const TemporaryDirectory directory;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    DecisionLogHeader header{.policy = "saps:s=8,action=\"x\"\\", .workers = 40};
    if (seed % 2 == 0) {
      header.balance = {.most = 1.0 + 15.0 * rng.uniform()};
      header.may_balance = {.most = 1.0};
      header.scale_invariant = true;
    }
    std::vector<std::string> written;
    {
      DecisionLogWriter writer(directory / "d", header);
      Time now{Duration{std::int64_t{1} << 61}};
      for (int i = 0; i < 200; ++i) {
        now += Duration{static_cast<std::int64_t>(rng.next() >> 12U)};
        const Event event = any_event(rng);
        policy::Decision decision;
        for (std::uint64_t actions = rng.below(6); actions > 0; --actions) {
          decision.actions.push_back(any_action(rng));
        }
        decision.reason = {.why = static_cast<policy::Why>(rng.below(16)), .a = 3.0, .b = 0.25};
        writer.append(now, event, decision);
        written.push_back(show(now, event, decision.actions) + "; " + to_words(decision.reason));
      }
    }
    DecisionLogReader reader(directory / "d");
    EXPECT_EQ(reader.header(), header);
    LoggedDecision logged;
    for (const std::string& decision : written) {
      ASSERT_TRUE(reader.next(logged));
      ASSERT_EQ(show(logged.now, logged.event, logged.actions) + "; " + logged.reason, decision);
    }
    EXPECT_FALSE(reader.next(logged));
    EXPECT_FALSE(reader.cut_short());
    EXPECT_EQ(reader.line(), 201U);
  }
}

// Why reading the text to its end fails, without the folder; "" if it does not.
std::string log_refusal(const std::string& text) {
  const TemporaryDirectory directory;
  put(directory / "d", text);
  const std::string error = error_of([&] {
    DecisionLogReader reader(directory / "d");
    LoggedDecision logged;
    while (reader.next(logged)) {
    }
  });
  const std::string start = "2: " + directory.path().string() + "/";
  EXPECT_TRUE(error.empty() || error.starts_with(start)) << error;
  return error.empty() ? "" : error.substr(start.size());
}

constexpr const char* kHeader = "{\"outpace_decisions\":1,\"policy\":\"sync\",\"workers\":2}\n";

TEST(DecisionLog, NamesFileAndLineOfWhatIsWrong) {
  const auto line = [](const std::string& event, const std::string& actions) {
    return log_refusal(std::string(kHeader) +
                       R"({"now":1,"event":{"type":"timer_fired"},"actions":[],"reason":""})" +
                       "\n{\"now\":1,\"event\":" + event + ",\"actions\":" + actions +
                       ",\"reason\":\"\"}\n");
  };
  EXPECT_EQ(line(R"({"type":"timer_fired"})", "[]"), "");
  EXPECT_EQ(line("{", "[]"), "d:3: not JSON");
  EXPECT_EQ(line("3", "[]"), "d:3: 'event' is not an object");
  EXPECT_EQ(line(R"({"type":"arrived"})", "[]"), "d:3: unknown event 'arrived'");
  EXPECT_EQ(line(R"({"type":"worker_joined"})", "[]"), "d:3: no 'worker'");
  EXPECT_EQ(line(R"({"type":"worker_joined","worker":1000000})", "[]"),
            "d:3: worker 1000000: at most 1000000 are read");
  EXPECT_EQ(line(R"({"type":"timer_fired"})", R"([{"type":"release","worker":4294967295}])"),
            "d:3: worker 4294967295: at most 1000000 are read");
  EXPECT_EQ(line(R"({"type":"worker_joined","worker":4294967296})", "[]"),
            "d:3: 'worker' is not a whole number from 0 to 4294967295");
  EXPECT_EQ(line(R"({"type":"worker_left","worker":1,"how":"gone"})", "[]"),
            "d:3: unknown how 'gone'");
  EXPECT_EQ(
      line(R"({"type":"gradient_arrived","worker":0,"release":1,"computed_on":0,"examples":0})",
           "[]"),
      "d:3: 'examples' is 0; a gradient is of one example at least");
  EXPECT_EQ(line(R"({"type":"timer_fired"})", "{}"), "d:3: 'actions' is not a list");
  EXPECT_EQ(line(R"({"type":"timer_fired"})", R"([{"type":"commit"},{"type":"go"}])"),
            "d:3: unknown action 'go'");
  EXPECT_EQ(
      line(R"({"type":"timer_fired"})", R"([{"type":"drop","worker":1,"release":1,"why":"?"}])"),
      "d:3: unknown why '?'");
  EXPECT_EQ(line(R"({"type":"timer_fired"})", R"([{"type":"wake_at","time":9223372036854775808}])"),
            "d:3: 'time' is not a whole number of nanoseconds");
}

TEST(DecisionLog, RefusesWhatIsNoDecisionLog) {
  EXPECT_EQ(log_refusal(""), "d:1: not a decision log: it has no first line");
  EXPECT_EQ(log_refusal("hello\n"), "d:1: not a decision log: its first line is not JSON");
  EXPECT_EQ(log_refusal("{}\n"),
            "d:1: not a decision log: it does not begin with {\"outpace_decisions\":1");
  EXPECT_EQ(log_refusal("{\"outpace_decisions\":2}\n"),
            "d:1: a decision log of version 2; this program reads version 1");
  EXPECT_EQ(log_refusal("{\"outpace_decisions\":1,\"policy\":\"sync\",\"workers\":2,"
                        "\"balance_most\":0.5}\n"),
            "d:1: 'balance_most' is not a number from 1 to 16");
  EXPECT_EQ(error_of([] { DecisionLogReader reader("/nowhere/d"); }),
            "2: cannot read /nowhere/d: No such file or directory");
}

TEST(DecisionLog, LeavesOutALastLineThatAKilledWriterDidNotEnd) {
  const TemporaryDirectory directory;
  put(directory / "d",
      std::string(kHeader) +
          R"({"now":1,"event":{"type":"timer_fired"},"actions":[],"reason":"x"})" + "\n{\"now\":");
  DecisionLogReader reader(directory / "d");
  LoggedDecision logged;
  EXPECT_TRUE(reader.next(logged));
  EXPECT_FALSE(reader.next(logged));
  EXPECT_TRUE(reader.cut_short());
}

TEST(DecisionLog, SaysInOneLineThatTheDiskIsFull) {
  DecisionLogWriter writer("/dev/full", {});
  EXPECT_EQ(error_of([&] { writer.flush(); }),
            "1: cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace outpace::record
