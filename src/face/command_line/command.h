// A command of a program: its name, and a function that declares its options and gives what it
// does.

#pragma once

#include <functional>

#include "job/option_list.h"

namespace outpace::command_line {

// Runs after the options are set; gives the exit code.
using Run = std::function<int(const job::OptionList& options)>;

using AddCommand = Run (*)(job::OptionList& options);

struct Command {
  const char* name;
  const char* what;  // Its line in --help.
  AddCommand add;    // Null: the name is known, and something else runs it.
  // Not in --help, in suggestions or in the page of options: only the program itself starts it.
  bool hidden = false;
};

}  // namespace outpace::command_line
