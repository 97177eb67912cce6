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
// `run updates=N seconds=1,1,4 noise=PHI` lets each worker answer this many seconds after each of
// its releases, until there are N more updates; the server measures norms of gradients of that
// noise scale. Only what the policy says about another policy is written, with its time.
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
#include <utility>
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
  static constexpr std::uint32_t kNominal = 32;  // Examples of a full mini-batch.

  std::string run(const Command& command) {
    if (command.name == "policy") {
      const auto most = balance(command);
      const Spec spec = Spec::parse(command.fields.at("spec"));
      driver_.emplace(
          make_settable_policy(spec,
                               command.count("workers", 1),
                               {.balance = most, .local_steps = command.count("local_steps", 0)}),
          most_of(spec.name, most));
      return "ok\n";
    }
    if (command.fields.contains("t")) {
      now_ = Time{*parse_duration(command.fields.at("t"))};
    }
    if (command.name == "run") {
      return run_on(command);
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
        {"single_gradient_norm", Measure::kSingleGradientNorm},
        {"scale_invariant", Measure::kScaleInvariant}};
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
      CheckedDriver::Gradient gradient = whole(worker, command.count("nominal", kNominal));
      gradient.examples = command.count("examples", gradient.examples);
      gradient.partial = command.fields.contains("partial");
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

  std::string run_on(const Command& command) {
    std::vector<double> seconds;
    for (const std::string_view worker : split(command.fields.at("seconds"), ',')) {
      seconds.push_back(*parse_number(worker));
    }
    const double noise = std::stod(command.fields.at("noise"));
    const std::uint64_t end = driver_->version() + command.count("updates", 1);
    std::string text;
    while (driver_->version() < end) {
      const std::uint64_t version = driver_->version();
      text += about_policies(step(seconds));
      accepted_ += static_cast<std::uint32_t>(driver_->count<Accept>());
      if (driver_->version() != version) {
        text += measure_norms(std::exchange(accepted_, 0), noise);
      }
    }
    return text + std::to_string(driver_->version()) + " updates\n";
  }

  // The next answer, or the timer if it is due before.
  const Decision& step(const std::vector<double>& seconds) {
    std::optional<std::uint32_t> next;
    const auto due = [&](std::uint32_t worker) {
      const CheckedDriver::Worker& state = driver_->worker(worker);
      return state.released + from_seconds(seconds.at(worker) * state.share);
    };
    for (std::uint32_t worker = 0; worker < seconds.size(); ++worker) {
      if (driver_->computes(worker) && (!next || due(worker) < due(*next))) {
        next = worker;
      }
    }
    if (wake_ && (!next || *wake_ < due(*next))) {
      now_ = std::max(now_, *std::exchange(wake_, std::nullopt));
      return noted(driver_->pass(TimerFired{}, now_));
    }
    now_ = std::max(now_, due(next.value()));
    return noted(driver_->worker(*next).cancelled && !driver_->worker(*next).keep_part
                     ? driver_->end(*next, Ending::kAbandoned, now_)
                     : driver_->arrive(*next, whole(*next, kNominal), now_));
  }

  // The gradient of all that the worker computes.
  CheckedDriver::Gradient whole(std::uint32_t worker, std::uint32_t nominal) {
    const double examples = driver_->worker(worker).share * nominal;
    return {.examples = static_cast<std::uint32_t>(std::lround(examples)), .nominal = nominal};
  }

  // V = noise, ||grad F|| = 1.
  std::string measure_norms(std::uint32_t gradients, double noise) {
    lone_ = gradients == 1 ? lone_ + 1 : 0;
    if (gradients == 1 && lone_ % kNormGroup != 0) {
      return "";
    }
    const double mean = std::sqrt(1.0 + noise / gradients_of_norms(gradients));
    std::string text;
    for (const Measured& measured :
         {Measured{Measure::kSingleGradientNorm, std::sqrt(1.0 + noise), Version{0}},
          Measured{Measure::kGradientNorm, mean, Version{0}}}) {
      text += about_policies(noted(driver_->pass(measured, now_)));
    }
    return text;
  }

  const Decision& noted(const Decision& decision) {
    for (const Action& action : decision.actions) {
      if (const auto* wake = std::get_if<WakeAt>(&action)) {
        wake_ = wake->time;
      }
    }
    return decision;
  }

  std::string about_policies(const Decision& decision) {
    const Why why = decision.reason.why;
    const bool told = why == Why::kMoreExpected || why == Why::kTried || why == Why::kLossRose ||
                      why == Why::kSwitched;
    std::string text =
        told ? "at " + std::to_string(to_seconds(now_)) + " s: " + to_words(decision.reason) + "\n"
             : "";
    for (const Action& action : decision.actions) {
      text += std::holds_alternative<Switched>(action) ? to_text(action, *driver_) + "\n" : "";
    }
    return text;
  }

  std::optional<CheckedDriver> driver_;
  Time now_{};
  // What `run` needs.
  std::optional<Time> wake_;
  std::uint32_t accepted_ = 0;
  std::uint64_t lone_ = 0;
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
