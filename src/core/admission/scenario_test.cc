// Runs every file of testdata/ and compares what the admission said with what the file says.
//
// A file is a series of blocks, with comments between them:
//
//   hello peer=3 worker=0 process=8 t=2s       an event; the fields after `peer` may be left out
//   ----
//   refuse peer=3 fenced 'worker 0 is alive at host1; ...'     the effects, in order
//
// A peer is a connection. Unless they say otherwise, its process has the same number, its host is
// named after it, its network is `a` and its data set has 100 examples. The events:
//
//   job workers=2            begins anew; also later=1, evaluator=expected, needed or started,
//                            network=a with given weights, one-evaluator, begins-again, resumed=28
//   hello, observe, weights, goodbye, closed, ended-process (nobody has heard of it yet), heard
//   ask, evaluator-failed, nobody-will-ask, nobody-will-join, stop, began
//   ended code=0, trained, wait, wait measuring, close, tick
//   seats pass=a workers=2   gives numbers; hello ... pass=a; shut-out worker=3
//
// To accept new output, run with UPDATE_GOLDEN=1 and read the diff: commit it only if you can say
// why each line changed.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "admission/admission_driver_test.h"
#include "base/text.h"

namespace outpace::admission {
namespace {

// "closed peer=2" is the name "closed" and its fields; a bare word is a field too.
struct Command {
  std::string name;
  std::map<std::string, std::string> fields;

  static Command parse(const std::string& line) {
    std::istringstream words(line);
    Command command;
    words >> command.name;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      command.fields[word.substr(0, equals)] =
          equals == std::string::npos ? word : word.substr(equals + 1);
    }
    return command;
  }
  [[nodiscard]] bool has(const std::string& key) const { return fields.contains(key); }
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) const {
    return has(key) ? fields.at(key) : otherwise;
  }
  [[nodiscard]] std::uint64_t count(const std::string& key, std::uint64_t otherwise) const {
    return has(key) ? *parse_count(fields.at(key)) : otherwise;
  }
  [[nodiscard]] ConnectionId peer() const { return ConnectionId{count("peer", 0)}; }
  [[nodiscard]] ExitCode code() const { return static_cast<ExitCode>(count("code", 0)); }
};

Options options_of(const Command& job) {
  const std::string evaluator = job.text("evaluator", "");
  Options options{.job = 5,
                  .workers = static_cast<std::uint32_t>(job.count("workers", 1)),
                  .later = static_cast<std::uint32_t>(job.count("later", 0)),
                  .expects_evaluator = evaluator == "expected" || evaluator == "needed",
                  .needs_evaluator = evaluator == "needed",
                  .starts_evaluator = evaluator == "started",
                  .one_evaluator = job.has("one-evaluator"),
                  .begins_again = job.has("begins-again"),
                  .has_weights = job.has("network"),
                  .shard = {.optimizer = Spec::parse("sgd")},
                  .seats_from = static_cast<std::uint32_t>(job.count("seats-from", 0))};
  if (job.has("network")) {
    options.network = network_named(job.fields.at("network"));
  }
  return options;
}

protocol::Hello hello_of(const Command& command) {
  const std::uint64_t peer = command.count("peer", 0);
  return {.worker = WorkerId{static_cast<std::uint32_t>(command.count("worker", 0))},
          .process = command.count("process", peer),
          .host = command.text("host", "host" + std::to_string(peer)),
          .dataset_examples = command.count("examples", 100),
          .manifest = network_named(command.text("network", "a")),
          .seen_job = command.count("seen-job", 0),
          .seen_version = Version{command.count("seen-version", 0)},
          .wants_evaluator = command.has("wants-evaluator")};
}

class Scenario {
 public:
  std::string run(const Command& command) {
    if (command.has("t")) {
      now_ = Time{*parse_duration(command.fields.at("t"))};
    }
    if (command.name == "job") {
      begin(command);
      return "ok\n";
    }
    if (command.name == "seats") {
      return seats(command);
    }
    if (command.name == "shut-out") {
      std::vector<WorkerId> workers;
      const std::string pass = driver_->admission.take_back_seats(worker_of(command), workers);
      return pass.empty() ? "it came by no pass\n" : "pass " + pass + ":" + in_words(workers);
    }
    if (command.name == "hello") {
      const std::string why =
          driver_->admission.why_other_number(command.text("pass", ""), worker_of(command));
      if (!why.empty()) {
        return "refuse " + why + "\n";
      }
      return or_nothing(driver_->greet(now_,
                                       command.peer(),
                                       hello_of(command),
                                       ended_processes_,
                                       Version{command.count("version", 0)}));
    }
    if (command.name == "wait") {
      return wait(command.has("measuring"));
    }
    Effects effects;
    pass(command, effects);
    return or_nothing(driver_->carry_out(now_, std::move(effects)));
  }

 private:
  static WorkerId worker_of(const Command& command) {
    return WorkerId{static_cast<std::uint32_t>(command.count("worker", 0))};
  }
  static std::string in_words(const std::vector<WorkerId>& workers) {
    std::string words;
    for (const WorkerId worker : workers) {
      words += " " + std::to_string(index(worker));
    }
    return words + "\n";
  }
  std::string seats(const Command& command) {
    const auto given = driver_->admission.give_seats(
        command.text("pass", "a"), static_cast<std::uint32_t>(command.count("workers", 1)));
    return given ? "numbers" + in_words(*given) : "full\n";
  }

  void begin(const Command& job) {
    now_ = Time{};
    ended_processes_.clear();
    driver_.emplace(options_of(job));
    if (job.has("resumed")) {
      driver_->admission.resume(
          {.network = network_named("a"), .examples = 100, .script = protocol::Script{}},
          Version{job.count("resumed", 0)});
    }
    driver_->admission.listens(now_, "server:7000");
  }

  void pass(const Command& command, Effects& out) {
    Admission& admission = driver_->admission;
    const ConnectionId peer = command.peer();
    const std::map<std::string, std::function<void()>> events{
        {"observe",
         [&] {
           admission.observe(peer, {.manifest = network_named(command.text("network", "a"))}, out);
         }},
        {"weights", [&] { admission.weights_came(peer); }},
        {"goodbye", [&] { admission.goodbye(peer, out); }},
        {"closed", [&] { admission.closed(peer, "end of stream", out); }},
        {"ended-process", [&] { ended_processes_.insert(peer); }},
        {"heard", [&] { admission.heard(now_, peer); }},
        {"ask", [&] { admission.ask_evaluator(now_, out); }},
        {"evaluator-failed", [&] { admission.evaluator_failed(); }},
        {"nobody-will-ask", [&] { admission.nobody_will_ask(); }},
        {"nobody-will-join", [&] { admission.nobody_will_join(out); }},
        {"stop", [&] { admission.stop(command.code(), "stopped", out); }},
        {"began", [&] { admission.began(); }},
        {"ended",
         [&] {
           admission.ended({command.code(), command.text("why", "done")});
         }},
        {"trained", [&] { admission.trained(now_, out); }},
        {"close", [&] { admission.close(out); }},
        {"tick", [&] { admission.tick(now_, out); }}};
    const auto event = events.find(command.name);
    ASSERT_NE(event, events.end()) << "no event is named " << command.name;
    event->second();
  }

  std::string wait(bool measuring) {
    Effects effects;
    const auto until = driver_->admission.waits_until(now_, measuring, effects);
    std::ostringstream words;
    words << driver_->carry_out(now_, std::move(effects));
    if (until) {
      words << "wait until=" << to_seconds(*until) << "s\n";
    } else {
      words << "wait no longer\n";
    }
    return words.str();
  }

  static std::string or_nothing(const std::string& text) {
    return text.empty() ? "nothing\n" : text;
  }

  std::optional<TextDriver> driver_;
  std::set<ConnectionId> ended_processes_;
  Time now_{};
};

// The file as it would read had the admission written it: comments and events kept, answers new.
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

TEST(AdmissionScenarios, AnswerAsWritten) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(OUTPACE_TESTDATA)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_GE(paths.size(), 5U);
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
}  // namespace outpace::admission
