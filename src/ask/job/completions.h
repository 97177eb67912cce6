// Completions of a program's commands, options and their values, for three shells.

#pragma once

#include <string>

#include "job/program_pages.h"

namespace outpace::job {

// Scripts, for the folders in which bash-completion, zsh and fish look for them. After `--` the
// words are those of another command.
[[nodiscard]] std::string bash_completions(const ProgramPages& program);
[[nodiscard]] std::string zsh_completions(const ProgramPages& program);
[[nodiscard]] std::string fish_completions(const ProgramPages& program);

}  // namespace outpace::job
