// Runs every file of testdata/ and compares what the policy said with what the file says.
//
// A file is a series of blocks, with comments between them:
//
//   arrived worker=2 t=1.5s examples=8        an event; the fields after `worker` may be left out
//   ----
//   accept worker=2 weight=1  # waiting: 1 of 2     the actions, in order, and the reason
//
// worker=0,1,2 is one event for each. The events are `policy SPEC workers=N` (begins anew; balanced
// with balance=MOST; with local_steps=H, who is cut off hands in its part), joined, left, dead,
// drained, arrived, abandoned, refused, timer, measured (test_loss=0.5, training_loss=0.5 or
// test_accuracy=0.5) and `set SPEC`. A runtime is the time from the release to the arrival, the
// examples are those of the release, and a gradient that was asked for its part is `partial`.
//
// To accept new output, run with UPDATE_GOLDEN=1 and read the diff: commit it only if you can say
// why each line changed.

#include <algorithm>
#include <cmath>
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
#include "policy/catalogue.h"
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
    const bool has_spec = command.name == "policy" || command.name == "set";
    for (std::string word; words >> word;) {
      const bool known = word.starts_with("workers=") || word.starts_with("balance=") ||
                         word.starts_with("t=") || word.starts_with("local_steps=");
      if (has_spec && !known) {  // A switch is many words.
        std::string& spec = command.fields["spec"];
        spec += (spec.empty() ? "" : " ") + word;
        continue;
      }
      const std::size_t equals = word.find('=');
      command.fields[word.substr(0, equals)] =
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
    if (release->share != 1.0) {
      out << " share=" << release->share;
    }
  } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
    out << "cancel worker=" << index(cancel->worker) << (cancel->keep_part ? " keep-part" : "");
  } else if (const auto* seam = std::get_if<Switched>(&action)) {
    out << "switched to=" << seam->to;
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
      const auto most = balance(command);
      driver_.emplace(
          make_settable_policy(Spec::parse(command.fields.at("spec")),
                               command.count("workers", 1),
                               {.balance = most, .local_steps = command.count("local_steps", 0)}),
          most);
      return "ok\n";
    }
    if (command.fields.contains("t")) {
      now_ = Time{*parse_duration(command.fields.at("t"))};
    }
    if (command.name == "set") {
      return to_text(driver_->pass(PolicySet{command.fields.at("spec")}, now_), *driver_);
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
  static std::optional<BalanceOptions> balance(const Command& command) {
    const auto most = command.fields.find("balance");
    return most == command.fields.end()
               ? std::nullopt
               : std::optional(BalanceOptions{.most = std::stod(most->second)});
  }

  static Measured measured(const Command& command) {
    static const std::map<std::string, Measure> kMeasures{
        {"test_loss", Measure::kTestLoss},
        {"training_loss", Measure::kTrainingLoss},
        {"test_accuracy", Measure::kTestAccuracy},
        {"gradient_norm", Measure::kGradientNorm},
        {"single_gradient_norm", Measure::kSingleGradientNorm}};
    for (const auto& [word, what] : kMeasures) {
      if (const auto value = command.fields.find(word); value != command.fields.end()) {
        return {.what = what, .value = std::stod(value->second), .version = Version{0}};
      }
    }
    return {};
  }

  const Decision& pass(const Command& command, std::uint32_t worker) {
    if (command.name == "joined") {
      return driver_->join(worker, now_);
    }
    if (command.name == "arrived") {
      const std::uint32_t nominal = command.count("nominal", 32);
      const auto whole =
          static_cast<std::uint32_t>(std::lround(driver_->worker(worker).share * nominal));
      const CheckedDriver::Gradient gradient{.examples = command.count("examples", whole),
                                             .nominal = nominal,
                                             .partial = command.fields.contains("partial")};
      return driver_->arrive(worker, gradient, now_);
    }
    if (command.name == "abandoned" || command.name == "refused") {
      return driver_->end(
          worker, command.name == "refused" ? Ending::kRefused : Ending::kAbandoned, now_);
    }
    static const std::map<std::string, Departure> kDepartures{{"left", Departure::kLeft},
                                                              {"dead", Departure::kDead},
                                                              {"drained", Departure::kDrained},
                                                              {"stalled", Departure::kStalled}};
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
