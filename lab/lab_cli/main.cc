// Tested by test/program/lab_test.py (class Words).

#include "command_line/program.h"
#include "lab_cli/commands.h"

namespace outpace::lab_cli {
namespace {

command_line::Program lab_program() {
  return {
      .name = "outpace-lab",
      .what =
          "Instruments that test outpace, the program beside this one.\n"
          "Exit codes: 0 nothing is broken, 1 something is, 2 usage or input.",
      .commands =
          {{"chaos",
            "Run a job of real processes under drawn faults, and decide whether anything was lost",
            add_chaos},
           {"relay",
            "Join network namespaces by links that delay, limit and lose packets",
            add_relay},
           {"swarm",
            "Run random simulated jobs with random faults, and check all invariants",
            add_swarm},
           {"chaos-process",
            "Run one process of a chaos run: a worker, an evaluator or ballast",
            add_chaos_process,
            /*hidden=*/true},
           {command_line::kOptions,
            "Print every option of every command, as tables of Markdown",
            nullptr}},
      // The variables are the product's, and a seed's plan must not change with them.
      .reads_environment = false};
}

}  // namespace
}  // namespace outpace::lab_cli

int main(int argc, char** argv) {
  const outpace::command_line::Program program = outpace::lab_cli::lab_program();
  return outpace::command_line::run_main(program.name, [&] {
    return outpace::command_line::run(program, {argv + 1, argv + argc});
  });
}
