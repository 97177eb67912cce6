// A program as a table of commands: chooses the command that the words name, sets its options by
// all layers, and runs it.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "command_line/command.h"

namespace outpace::command_line {

// The command that prints the options of all commands, as a page, manual pages or completions. Its
// row in the table has no function.
inline constexpr const char* kOptions = "options";

// What this program used to have, and another one has.
struct Moved {
  const char* command;
  const char* option;  // "--swarm" of that command; empty: the whole command.
  const char* now;     // The command to run in its place.
};

struct Program {
  std::string name;
  std::string what;               // What --help says first.
  std::string options_head{};     // What `options` prints before its tables.
  bool options_by_name = false;   // `options` prints one table for all commands.
  std::vector<Command> commands;  // In the order of --help.
  std::vector<Moved> moved{};
  // Whether the variable OUTPACE_POLICY sets --policy.
  bool reads_environment = true;
  // For completions: what options of a type may be, where their names do not say it.
  std::map<std::string, std::vector<std::string>> words_of_type{};
  // Options of other processes; their variables are no mistake.
  std::vector<std::string> known_elsewhere{};
};

// Gives the exit code. Throws a usage error in one line, and what the command throws.
// `words`: those after the program's name.
[[nodiscard]] int run(const Program& program, const std::vector<std::string>& words);

// The whole of main(): signals and memory, then `body`. What that throws becomes one line on
// standard error, and the exit code.
[[nodiscard]] int run_main(const std::string& name, const std::function<int()>& body);

}  // namespace outpace::command_line
