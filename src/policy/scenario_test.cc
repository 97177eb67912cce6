// Runs every file of testdata/ and compares what the policy said with what the file says.
//
// A file is a series of blocks, with comments between them:
//
//   arrived worker=2 t=1.5s examples=8        an event; the fields after `worker` may be left out
//   ----
//   accept worker=2 weight=1  # waiting: 1 of 2     the actions, in order, and the reason
//
// worker=0,1,2 is one event for each. The events are `policy SPEC workers=N` (begins anew),
// joined, left, dead, drained, arrived, abandoned, refused, timer and measured (test_loss=0.5). A
// runtime is the time from the release to the arrival, and a gradient that was asked for its part
// is `partial`.
//
// To accept new output, run with UPDATE_GOLDEN=1 and read the diff: commit it only if you can say
// why each line changed.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

// "arrived worker=2 partial" is the name "arrived" and its fields; a bare word is a field too.
struct Command {
  std::string name;
  std::map<std::string, std::string> fields;

  static Command parse(const std::string& line) {
    std::istringstream words(line);
    Command command;
    words >> command.name;
    for (std::string word; words >> word;) {
      const bool spec = command.name == "policy" && command.fields.empty();
      const std::size_t equals = spec ? std::string::npos : word.find('=');
      command.fields[spec ? "spec" : word.substr(0, equals)] =
          equals == std::string::npos ? word : word.substr(equals + 1);
    }
    return command;
  }

  [[nodiscard]] std::uint32_t count(const std::string& key, std::uint32_t otherwise) const {
    const auto found = fields.find(key);
    return found == fields.end() ? otherwise
                                 : static_cast<std::uint32_t>(*parse_count(found->second));
  }
};

std::string to_text(const Action& action, const CheckedDriver& driver) {
  std::ostringstream out;
  if (const auto* accept = std::get_if<Accept>(&action)) {
    out << "accept worker=" << index(accept->worker) << " weight=" << accept->weight;
  } else if (const auto* drop = std::get_if<Drop>(&action)) {
    out << "drop worker=" << index(drop->worker) << " why='" << to_words(drop->why) << "'";
  } else if (std::holds_alternative<Commit>(action)) {
    out << "commit version=" << driver.version();
  } else if (const auto* release = std::get_if<Release>(&action)) {
    out << "release worker=" << index(release->worker)
        << " version=" << driver.worker(static_cast<std::uint32_t>(release->worker)).version;
    if (release->share < 1.0) {
      out << " share=" << release->share;
    }
  } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
    out << "cancel worker=" << index(cancel->worker) << (cancel->keep_part ? " keep-part" : "");
  } else {
    out << "wake at=" << to_seconds(std::get<WakeAt>(action).time) << "s";
  }
  return out.str();
}

std::string to_text(const Decision& decision, const CheckedDriver& driver) {
  std::string text;
  for (const Action& action : decision.actions) {
    text += to_text(action, driver);
    text += &action == decision.actions.data() ? "  # " + to_words(decision.reason) + "\n" : "\n";
  }
  return text.empty() ? "nothing  # " + to_words(decision.reason) + "\n" : text;
}

class Scenario {
 public:
  std::string run(const Command& command) {
    if (command.name == "policy") {
      driver_.emplace(command.fields.at("spec"), command.count("workers", 1));
      return "ok\n";
    }
    if (command.fields.contains("t")) {
      now_ = Time{*parse_duration(command.fields.at("t"))};
    }
    if (!command.fields.contains("worker")) {
      return to_text(command.name == "timer" ? driver_->pass(TimerFired{}, now_)
                                             : driver_->pass(measured(command), now_),
                     *driver_);
    }
    std::string text;
    for (const std::string_view worker : split(command.fields.at("worker"), ',')) {
      text += to_text(pass(command, static_cast<std::uint32_t>(*parse_count(worker))), *driver_);
    }
    return text;
  }

 private:
  static Measured measured(const Command& command) {
    const auto loss = command.fields.find("test_loss");
    return loss == command.fields.end()
               ? Measured{}
               : Measured{Measure::kTestLoss, std::stod(loss->second), Version{0}};
  }

  const Decision& pass(const Command& command, std::uint32_t worker) {
    if (command.name == "joined") {
      return driver_->join(worker, now_);
    }
    if (command.name == "arrived") {
      const CheckedDriver::Gradient gradient{.examples = command.count("examples", 32),
                                             .nominal = command.count("nominal", 32),
                                             .partial = command.fields.contains("partial")};
      return driver_->arrive(worker, gradient, now_);
    }
    if (command.name == "abandoned" || command.name == "refused") {
      return driver_->end(
          worker, command.name == "refused" ? Ending::kRefused : Ending::kAbandoned, now_);
    }
    static const std::map<std::string, Departure> kDepartures{
        {"left", Departure::kLeft}, {"dead", Departure::kDead}, {"drained", Departure::kDrained}};
    return driver_->leave(worker, kDepartures.at(command.name), now_);
  }

  std::optional<CheckedDriver> driver_;
  Time now_{};
};

// The file as it would read had the policy written it: comments and events kept, answers new.
std::string replay(std::istream& file) {
  Scenario scenario;
  std::ostringstream out;
  std::string line;
  while (std::getline(file, line)) {
    out << line << "\n";
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::string answer = scenario.run(Command::parse(line));
    std::getline(file, line);
    EXPECT_EQ(line, "----");
    out << line << "\n" << answer;
    while (std::getline(file, line) && !line.empty()) {
    }
    if (file) {
      out << "\n";
    }
  }
  return out.str();
}

TEST(PolicyScenarios, AnswerAsWritten) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(OUTPACE_TESTDATA)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_GE(paths.size(), catalogue().size());
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path.filename());
    std::stringstream expected;
    expected << std::ifstream(path).rdbuf();
    const std::string actual = replay(expected);
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << actual;
    } else {
      EXPECT_EQ(actual, expected.str());
    }
  }
}

}  // namespace
}  // namespace outpace::policy
