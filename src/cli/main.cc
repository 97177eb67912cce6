#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <malloc.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/libtorch.h"

namespace outpace::cli {
namespace {

struct Command {
  const char* name;
  const char* what;
  AddCommand add;  // Null: with libtorch alone, of libtorch_commands().
};

constexpr Command kCommands[] = {
    {"train",
     "Train on this machine: one server and N workers, all processes started and reaped",
     nullptr},
    {"server", "Be a job's server", add_server},
    {"worker", "Be one worker of a job", add_worker},
    {"evaluator", "Measure a job's accuracy on the test set, off its workers' path", add_evaluator},
    {"peer", "Be one worker of a ring or a gossip; train starts them", nullptr},
    {"ctl", "Tell a job that runs to change its policy, or ask how it goes", add_ctl},
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
     "Which policy, topology, workers and shards to take: the fastest, the best for its cost, or "
     "the cheapest that is fast enough",
     add_plan},
    {"compare",
     "Run policies, seeds and traces of delays side by side, live or simulated, and show a table",
     add_compare},
    {"calibrate",
     "Learn what an iteration costs from a table of measured configurations",
     add_calibrate},
    {"replay",
     "Feed a recorded run's events to its policy again: are the decisions the same?",
     add_replay},
    {"whatif",
     "From a recorded run: how much faster without a worker, under another policy, with more "
     "workers",
     add_whatif},
    {"cutoff",
     "How long should have been waited: replay runtimes, and see what a dynamic cutoff gains",
     add_cutoff},
    {"fit",
     "Fit the deep runtime model to recorded runtimes, which `outpace cutoff` can try",
     nullptr},
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

int run(const std::vector<std::string>& words) {
  CLI::App app(
      "Outpace: distributed SGD that does not wait for the slow.\n"
      "Exit codes: 0 done, 1 failure, 2 usage or input, 3 token refused, 4 incompatible,\n"
      "5 too few workers, 6 unreadable weights, 128+n ended by signal n.",
      "outpace");
  app.set_version_flag("--version", std::string("outpace ") + OUTPACE_VERSION);
  app.require_subcommand(1);
  const std::map<std::string, AddCommand> with_libtorch = libtorch_commands();
  if (wants_libtorch(words) && !with_libtorch.contains(words.front())) {
    throw NeedsLibtorch(words.front());
  }
  std::map<std::string, Run> runs;
  for (const Command& command : kCommands) {
    CLI::App* added = app.add_subcommand(command.name, command.what);
    added->add_option("--config", "TOML file with any of these options")->type_name("FILE");
    if (command.add != nullptr) {
      runs[command.name] = command.add(*added);
    } else if (with_libtorch.contains(command.name)) {
      runs[command.name] = with_libtorch.at(command.name)(*added);
    }
  }
  try {
    const Origins origins = parse(app, words);
    const CLI::App* chosen = app.get_subcommands().front();
    return runs.at(chosen->get_name())(*chosen, origins);
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
  try {
    return outpace::cli::run_or_become(argc, argv);
  } catch (const outpace::Error& error) {
    std::fprintf(stderr, "outpace: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "outpace: %s\n", error.what());
    return 1;
  }
}
