#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/libtorch.h"
#include "command_line/program.h"
#include "policy/catalogue.h"

namespace outpace::cli {
namespace {

using command_line::Command;

constexpr const char* kWhat =
    "Outpace: distributed SGD that does not wait for the slow.\n"
    "Exit codes: 0 done, 1 failure, 2 usage or input, 3 token refused, 4 incompatible,\n"
    "5 too few workers, 6 unreadable weights, 128+n ended by signal n.";

constexpr const char* kOptionsHead =
    "# Options\n"
    "\n"
    "This page lists every option, with the commands that take it. `outpace options` writes it\n"
    "(`make docs`); `outpace COMMAND --help` lists the options of one command.\n"
    "\n"
    "A value comes from, in increasing order of precedence: the default, the TOML file of "
    "`--config`,\n"
    "the environment, the command line. `--policy sync` is `policy = \"sync\"` in the file and\n"
    "`OUTPACE_POLICY=sync` in the environment; the variable of `--evaluate-every` is\n"
    "`OUTPACE_EVALUATE_EVERY`. `--resolved FILE` takes all values from a file such as the\n"
    "`config.toml` of a run, and ignores the environment.\n"
    "\n"
    "An option that differs between commands has a row for each meaning and default.\n";

// Those without a function are of libtorch_commands().
constexpr Command kCommands[] = {
    {"train",
     "Train on this machine: start one server and N workers, and reap all of them",
     add_train},
    {"run",
     "Train with your own script on this machine: start one server and the script N times",
     add_run},
    {"join",
     "Join a run on another machine by its code: start your script here as its workers",
     add_join},
    {"server", "Run the parameter server of a job", add_server},
    {"worker", "Run one worker of a job", add_worker},
    {"reduce",
     "Hand in one gradient for the workers of this machine: one push in place of many",
     add_reduce},
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
    {"doctor",
     "Say what this machine can do for a run, what stands in the way, and whether it reaches a "
     "server",
     add_doctor},
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
    {command_line::kOptions,
     "Print every option of every command, or write manual pages and completions of shells",
     nullptr},
    {"policies",
     "List the policies, staleness rules, optimizers and runtimes, with their options and sources",
     add_policies},
};

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const policy::Entry& entry : policy::catalogue()) {
    names.emplace_back(entry.name);
  }
  return names;
}

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

command_line::Program outpace_program() {
  command_line::Program program{
      .name = "outpace",
      .what = kWhat,
      .options_head = kOptionsHead,
      .options_by_name = true,
      .commands = {std::begin(kCommands), std::end(kCommands)},
      .moved = {{"chaos", "", "outpace-lab chaos (docs/chaos.md)"},
                {"simulate", "--swarm", "outpace-lab swarm (docs/simulation.md)"}},
      .words_of_type = {{"POLICY", policy_names()}, {"POLICIES", policy_names()}},
      .known_elsewhere = {"role", "gradients"}};  // For what `outpace run` and `join` start.
  const std::map<std::string, AddCommand> with_libtorch = libtorch_commands();
  for (Command& command : program.commands) {
    if (const auto found = with_libtorch.find(command.name); found != with_libtorch.end()) {
      command.add = found->second;
    }
  }
  return program;
}

int run(const std::vector<std::string>& words) {
  // Where there is no libtorch, the options are those of all other commands.
  if (wants_libtorch(words) && words.front() != command_line::kOptions &&
      !libtorch_commands().contains(words.front())) {
    throw NeedsLibtorch(words.front());
  }
  return command_line::run(outpace_program(), words);
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
  const int code = outpace::command_line::run_main(
      "outpace", [&] { return outpace::cli::run_or_become(argc, argv); });
  if (outpace::cli::has_libtorch()) {
    // libtorch leaves one operator after another: a twelfth of what starting and ending take.
    std::cout.flush();
    static_cast<void>(std::fflush(nullptr));
    _exit(code);
  }
  return code;
}
