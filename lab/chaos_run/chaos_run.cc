// Tested by test/program/chaos_test.py (class Smoke).

#include "chaos_run/chaos_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "chaos_run/injector.h"
#include "chaos_run/journal.h"
#include "chaos_run/stage.h"
#include "record/safetensors.h"

namespace outpace::chaos_run {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kTick{5};
constexpr milliseconds kRead{100};
constexpr seconds kMemoryEvery{1};
constexpr seconds kProgressEvery{10};
// Limits of what takes a few seconds on an idle machine.
constexpr seconds kToStart{60};
constexpr seconds kToRecover{60};
constexpr seconds kToEnd{30};
constexpr seconds kToFinish{30};  // Without an accepted gradient.
constexpr seconds kToVanish{20};

// docs/wire.md, "Limits and memory", with the server's own memory at its start.
std::uint64_t server_memory_most(std::uint64_t at_start, const chaos::Job& job) {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
  const std::uint64_t gradient = 4 * job.examples;
  // Connections, strangers' connections, weights and optimizer, and their copies of a checkpoint.
  return at_start + job.workers * (5 * gradient + kMib) + gradient + 64 * kMib + 8 * gradient;
}

std::string drawn_mark() {
  std::random_device device;
  return fmt::format("chaos-{:08x}{:08x}", device(), device());
}

std::string own_program() {
  return fs::read_symlink("/proc/self/exe").string();
}

class Run {
 public:
  explicit Run(const ChaosOptions& options)
      : options_(options),
        mark_(drawn_mark()),
        journal_(options.folder),
        stage_({.plan = options.plan,
                .folder = options.folder,
                .server = options.server,
                .program = own_program(),
                .mark = mark_,
                .clock_library = options.clock_library,
                .say = [this](const std::string& line) { say(line); }},
               journal_),
        injector_(stage_, journal_, [this](std::uint64_t mib) { return ballast(mib); }) {}

  void run() {
    start();
    torment();
    recover();
    const std::uint64_t epochs = finish();
    journal_.write("chaos", 0, "over", {{"epochs", epochs}});
    look_for_orphans();
    journal_.merge_all();
  }

 private:
  void say(const std::string& line) const {
    const double at = std::chrono::duration<double>(steady_clock::now() - begun_).count();
    options_.say(fmt::format("{:6.1f} s  {}", at, line));
  }

  std::unique_ptr<Process> ballast(std::uint64_t mib) {
    return std::make_unique<Process>(Command{
        .words =
            {own_program(), "chaos-process", "--role", "ballast", "--ballast", std::to_string(mib)},
        .variables = {{"CHAOS_MARK", mark_}},
        .log = (options_.folder / "logs" / "ballast.log").string()});
  }

  void tick() {
    injector_.tick();
    stage_.tick();
    const auto now = steady_clock::now();
    if (now >= next_read_) {
      journal_.read();
      next_read_ = now + kRead;
    }
    if (now >= next_memory_ && stage_.server().running()) {
      const pid_t server = stage_.server().process->id();
      if (const std::uint64_t bytes = resident_bytes(server); bytes != 0) {
        journal_.write("server", server, "memory", {{"bytes", bytes}});
      }
      next_memory_ = now + kMemoryEvery;
    }
    if (now >= next_progress_) {
      say(fmt::format(
          "update {}, generation {} of the server", journal_.version(), journal_.generation()));
      next_progress_ = now + kProgressEvery;
    }
    std::this_thread::sleep_for(kTick);
  }

  // False, with a record that breaks a rule, if it does not come true in time.
  bool wait_for(const std::function<bool()>& holds, seconds limit, const std::string& what) {
    const auto begun = steady_clock::now();
    while (!holds()) {
      if (steady_clock::now() - begun > limit) {
        say("overdue: " + what);
        journal_.write("chaos", 0, "overdue", {{"waited_for", what}, {"seconds", limit.count()}});
        return false;
      }
      tick();
    }
    return true;
  }

  // Until every worker has had a gradient accepted from now on.
  bool until_all_take_part(seconds limit, const std::string& when) {
    journal_.read();
    std::map<std::string, std::uint64_t> before;
    for (const Member& member : stage_.members()) {
      before[member.who] = journal_.accepted(member.who);
    }
    for (const Member& member : stage_.members()) {
      if (!member.who.starts_with("worker")) {
        continue;
      }
      if (!wait_for([&] { return journal_.accepted(member.who) > before[member.who]; },
                    limit,
                    fmt::format("an accepted gradient of {} {}", member.who, when))) {
        return false;
      }
    }
    return true;
  }

  bool start_all() {
    stage_.start_server();
    const auto cannot = [this] {
      return !stage_.server().running() && !stage_.server().start_again;
    };
    if (!wait_for(
            [&] { return stage_.listening() || cannot(); }, kToStart, "the server to listen") ||
        !stage_.listening()) {
      return false;
    }
    stage_.start_others();
    return true;
  }

  void start() {
    if (!start_all() || !until_all_take_part(kToStart, "at the start")) {
      throw Error(ExitCode::kFailure,
                  fmt::format("the job does not start: {}; its logs are in {}",
                              last_line(stage_.server().log),
                              (options_.folder / "logs").string()));
    }
    const chaos::Job& job = options_.plan.job;
    journal_.write("chaos",
                   0,
                   "began",
                   {{"seed", options_.plan.seed},
                    {"policy", job.policy},
                    {"carrier", chaos::word(job.carrier)},
                    {"workers", job.workers},
                    {"examples", job.examples},
                    {"checkpoint_every", job.checkpoint_every},
                    {"server_memory_most",
                     server_memory_most(resident_bytes(stage_.server().process->id()), job)}});
    say("all take part; the faults begin");
  }

  void torment() {
    const auto begun = steady_clock::now();
    for (const chaos::Fault& fault : options_.plan.faults) {
      while (steady_clock::now() - begun < fault.at) {
        tick();
      }
      const std::string words = chaos::to_words(fault);
      const std::string line = words.substr(words.find("s  ") + 3);
      say(injector_.inject(fault) ? line : line + ": skipped, it is down");
    }
    while (steady_clock::now() - begun < options_.plan.length) {
      tick();
    }
  }

  void recover() {
    injector_.heal_all();
    say("healed; waiting for every worker to take part again");
    journal_.write("chaos", 0, "healed", {{"kind", "all"}});
    wait_for([this] { return stage_.listening(); }, kToRecover, "the server to listen again");
    journal_.read();
    const std::uint64_t before = journal_.evaluations();
    if (until_all_take_part(kToRecover, "after everything was healed")) {
      // An evaluator that still looks for the server would not hear that it ends.
      wait_for([&] { return journal_.evaluations() > before; },
               kToRecover,
               "an evaluation after everything was healed");
    }
  }

  // Gives back how many epochs the final weights are to have.
  std::uint64_t finish() {
    say("the server is told to end");
    end_in_order(SIGTERM, {128 + SIGTERM}, {0, 1});
    journal_.read();
    // A whole epoch more than has begun, so that the last death below comes in the middle of it.
    const std::uint64_t epochs = journal_.epochs() + 1;
    say(fmt::format("it goes on to the end of epoch {}", epochs));
    stage_.finish_after(epochs);
    if (start_all()) {
      for (Member& member : stage_.members()) {
        member.as_told = {0};
      }
      kill_once_more();
      until_finished(fmt::format("the end of epoch {}", epochs));
    }
    end_in_order(0, {0}, {0, 128 + SIGKILL});
    return epochs;
  }

  // What a server forgets, the next one finds in the checkpoint. So one worker dies after the last
  // server has come, and its examples must go to others without such help.
  void kill_once_more() {
    until_all_take_part(kToRecover, "in the last epoch");
    Member& worker = *stage_.find("worker 0");
    if (worker.running()) {
      stage_.let_end(worker, {128 + SIGKILL});
      worker.process->send(SIGKILL);
    }
  }

  // As long as gradients are accepted.
  void until_finished(const std::string& what) {
    std::uint64_t before = 0;
    do {
      before = journal_.accepted();
      const auto until = steady_clock::now() + kToFinish;
      while (stage_.server().running() && steady_clock::now() < until) {
        tick();
      }
    } while (stage_.server().running() && journal_.accepted() != before);
    wait_for([this] { return !stage_.server().running(); }, seconds(0), what);
  }

  // The server, by this signal if it is not 0, and then the others, by themselves.
  void end_in_order(int signal, std::set<int> server_codes, std::set<int> other_codes) {
    for (Member& member : stage_.members()) {
      stage_.let_end(member, &member == &stage_.server() ? server_codes : other_codes);
    }
    if (signal != 0) {
      stage_.server().process->send(signal);
    }
    wait_for([this] { return !stage_.server().running(); }, kToEnd, "the server's end");
    wait_for([this] { return !stage_.any_running(); }, kToEnd, "the end of workers and evaluator");
    for (Member& member : stage_.members()) {
      if (member.running()) {
        member.as_told = {128 + SIGKILL};
        member.process->send(SIGKILL);
      }
    }
    wait_for(
        [this] { return !stage_.any_running(); }, kToEnd, "the end of processes that were killed");
    tick();
  }

  void look_for_orphans() {
    const auto begun = steady_clock::now();
    std::vector<pid_t> left = processes_with(mark_);
    while (!left.empty() && steady_clock::now() - begun < kToVanish) {
      std::this_thread::sleep_for(kRead);
      left = processes_with(mark_);
    }
    if (!left.empty()) {
      journal_.write("chaos", 0, "left", {{"processes", fmt::format("{}", fmt::join(left, ", "))}});
      std::ranges::for_each(left, [](pid_t one) { ::kill(one, SIGKILL); });
    }
  }

  const ChaosOptions& options_;
  const std::string mark_;
  const steady_clock::time_point begun_ = steady_clock::now();
  Journal journal_;
  Stage stage_;
  Injector injector_;
  steady_clock::time_point next_read_{};
  steady_clock::time_point next_memory_{};
  steady_clock::time_point next_progress_ = begun_ + kProgressEvery;
};

}  // namespace

Outcome run_chaos(const ChaosOptions& options) {
  std::error_code problem;
  fs::create_directories(options.folder, problem);
  if (problem || !fs::is_empty(options.folder, problem)) {
    throw usage_error("--out " + options.folder.string() +
                      " cannot be made, or is not empty; give a folder that does not exist");
  }
  const auto begun = steady_clock::now();
  Run(options).run();
  Outcome outcome = check_again(options.folder);
  outcome.seconds = std::chrono::duration<double>(steady_clock::now() - begun).count();
  return outcome;
}

Outcome check_again(const fs::path& folder) {
  const std::vector<chaos::Record> history = read_history(folder / "history.jsonl");
  chaos::FinalState final_state;
  for (const chaos::Record& record : history) {
    if (record.what == "over") {
      final_state.epochs = record.get<std::uint64_t>("epochs");
    }
  }
  const fs::path weights = folder / "run" / "weights.safetensors";
  if (fs::exists(weights)) {
    final_state.weights = record::read_safetensors(weights).numbers;
  }
  return {.totals = chaos::count(history), .broken = chaos::check(history, final_state)};
}

std::string find_clock_library() {
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
                           "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"}) {
    if (fs::exists(path)) {
      return path;
    }
  }
  return "";
}

}  // namespace outpace::chaos_run
