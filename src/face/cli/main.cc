#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <malloc.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/libtorch.h"
#include "job/options_page.h"
#include "run/side_writer.h"

namespace outpace::cli {
namespace {

struct Command {
  const char* name;
  const char* what;
  AddCommand add;  // Null: with libtorch alone, of libtorch_commands().
};

constexpr Command kCommands[] = {
    {"train",
     "Train on this machine: start one server and N workers, and reap all of them",
     add_train},
    {"run",
     "Train with your own script on this machine: start one server and the script N times",
     add_run},
    {"server", "Run the parameter server of a job", add_server},
    {"worker", "Run one worker of a job", add_worker},
    {"evaluator", "Measure a job's test accuracy without delaying its workers", add_evaluator},
    {"peer", "Run one worker of a ring or a gossip; train starts them", nullptr},
    {"ctl",
     "Change the policy of a running job, slow a worker of it, or print its status",
     add_ctl},
    {"report",
     "Write a report of runs as one HTML file: what was run, who was slow, what it cost",
     add_report},
    {"dashboard", "Show a recorded or running run as a page in the browser", add_dashboard},
    {"checkpoint",
     "List, verify and print a run's checkpoints, or take the weights out of one",
     add_checkpoint},
    {"certs",
     "Make the certificates by which a job's server and workers know each other over TLS",
     add_certs},
    {"simulate",
     "Run a job of simulated workers in virtual time, with the same policies",
     add_simulate},
    {"profile",
     "Measure one worker and one server, or read a trace of PyTorch's profiler, for `predict`",
     nullptr},
    {"predict",
     "Predict throughput with other workers, policies, links and topologies, from a profile",
     add_predict},
    {"plan",
     "Choose policy, topology, workers and shards: the fastest, the best for its cost, or the "
     "cheapest that is fast enough",
     add_plan},
    {"compare",
     "Run policies, seeds and traces of delays side by side, live or simulated, and print a table",
     add_compare},
    {"calibrate",
     "Learn what an iteration costs from a table of measured configurations",
     add_calibrate},
    {"replay",
     "Feed a recorded run's events to its policy again, and compare the decisions",
     add_replay},
    {"whatif",
     "Estimate from a recorded run how much faster it would be without a worker, under another "
     "policy or with more workers",
     add_whatif},
    {"cutoff",
     "Replay recorded runtimes, and measure what a dynamic cutoff would have gained",
     add_cutoff},
    {"fit",
     "Fit the deep runtime model to recorded runtimes, for --policy dynamic and outpace cutoff",
     nullptr},
    {"chaos",
     "Run a job of real processes under drawn faults, and decide whether anything was lost",
     add_chaos},
    {"chaos-process",
     "Run one process of `outpace chaos`: a worker, an evaluator or ballast; chaos starts them",
     add_chaos_process},
    {"options", "Print every option of every command, as a page of Markdown", nullptr},
    {"policies",
     "List the policies, staleness rules, optimizers and runtimes, with their options and sources",
     add_policies},
};

// Whether this program has nothing for the command of these words, or the one with libtorch more.
bool wants_libtorch(const std::vector<std::string>& words) {
  return !has_libtorch() && !words.empty() &&
         std::ranges::any_of(kCommands, [&](const Command& command) {
           return command.add == nullptr && command.name == words.front();
         });
}

// The program with libtorch, which is beside this one.
std::filesystem::path program_with_libtorch() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / kLibtorchProgram;
}

// A command with its options declared.
struct Declared {
  std::unique_ptr<job::OptionList> options;
  Run run;
};

std::map<std::string, Declared> declare_commands() {
  const std::map<std::string, AddCommand> with_libtorch = libtorch_commands();
  std::map<std::string, Declared> declared;
  for (const Command& command : kCommands) {
    const auto other = with_libtorch.find(command.name);
    const AddCommand add = command.add != nullptr         ? command.add
                           : other != with_libtorch.end() ? other->second
                                                          : nullptr;
    if (add != nullptr) {
      Declared one{.options = std::make_unique<job::OptionList>(), .run = nullptr};
      one.run = add(*one.options);
      declared.emplace(command.name, std::move(one));
    }
  }
  return declared;
}

void check_command(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    names.emplace_back(command.name);
  }
  if (words.empty()) {
    throw usage_error("a command is missing" + suggestion("", names) + " (outpace --help)");
  }
  if (!words.front().starts_with("-") && std::ranges::find(names, words.front()) == names.end()) {
    throw usage_error("unknown command '" + words.front() + "'" + suggestion(words.front(), names));
  }
  if (wants_libtorch(words) && !libtorch_commands().contains(words.front())) {
    throw NeedsLibtorch(words.front());
  }
}

// In the order of kCommands.
void print_options(const std::map<std::string, Declared>& commands) {
  std::vector<std::pair<std::string, const job::OptionList*>> lists;
  for (const Command& command : kCommands) {
    if (const auto found = commands.find(command.name); found != commands.end()) {
      lists.emplace_back(command.name, found->second.options.get());
    }
  }
  std::fputs(job::options_page(lists).c_str(), stdout);
}

int run(const std::vector<std::string>& words) {
  check_command(words);
  CLI::App app(
      "Outpace: distributed SGD that does not wait for the slow.\n"
      "Exit codes: 0 done, 1 failure, 2 usage or input, 3 token refused, 4 incompatible,\n"
      "5 too few workers, 6 unreadable weights, 128+n ended by signal n.",
      "outpace");
  app.set_version_flag("--version", std::string("outpace ") + OUTPACE_VERSION);
  app.require_subcommand(1);
  const std::map<std::string, Declared> commands = declare_commands();
  for (const Command& command : kCommands) {
    CLI::App* added = app.add_subcommand(command.name, command.what);
    if (const auto found = commands.find(command.name); found != commands.end()) {
      bind(*found->second.options, *added);
    }
  }
  try {
    std::vector<std::string> joined = words;
    if (const auto found = commands.find(words.front()); found != commands.end()) {
      check_words(words, words.front(), *found->second.options);
      joined = join_values(words, *found->second.options);
    }
    parse_words(app, std::move(joined));
    const CLI::App* chosen = app.get_subcommands().front();
    if (chosen->get_name() == "options") {
      print_options(commands);
      return 0;
    }
    const Declared& command = commands.at(chosen->get_name());
    std::vector<std::string> known_elsewhere;
    for (const auto& [name, other] : commands) {
      const std::vector<std::string> names = other.options->names();
      known_elsewhere.insert(known_elsewhere.end(), names.begin(), names.end());
    }
    known_elsewhere.emplace_back("role");  // For a process that `outpace run` starts.
    set_options(*chosen, known_elsewhere, *command.options);
    return command.run(*command.options);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  }
}

// run(), by the program with libtorch where it takes that: in this process, with the same words.
int run_or_become(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (wants_libtorch(words)) {
      execv(program_with_libtorch().c_str(), argv);  // Comes back if there is none.
    }
    return run(words);
  } catch (const NeedsLibtorch& needed) {
    execv(program_with_libtorch().c_str(), argv);
    throw usage_error(std::string(needed.what()) + " takes libtorch, and " +
                      program_with_libtorch().string() + ", which has it: " + std::strerror(errno) +
                      "; it is built with OUTPACE_TORCH=ON");
  }
}

}  // namespace
}  // namespace outpace::cli

int main(int argc, char** argv) {
  // Gradients and weights come and go thousands of times a second: keep their memory.
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 29);
  // A file that would exceed the user's limit is one that cannot be written, as on a full disk.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  // A reader that goes away does not end a run.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  // Nobody may read it, so the program ends without it in the end. It may quote a file that
  // somebody brought, which shall not control the terminal.
  const auto say = [](const std::exception& error) {
    (void)outpace::run::print(STDERR_FILENO, "outpace: " + outpace::printable(error.what()) + "\n");
  };
  try {
    return outpace::cli::run_or_become(argc, argv);
  } catch (const outpace::Error& error) {
    say(error);
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    say(error);
    return 1;
  }
}
