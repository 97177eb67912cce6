// Where an option's value comes from: defaults < TOML file < environment OUTPACE_* < command line.
//
// All layers become one command line for CLI11, so that every value is checked in one place.
// `--policy P` is `policy = "P"` in the file and OUTPACE_POLICY in the environment.

#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace outpace::cli {

// The option's name -> "command line", "environment", or the file's name; absent: default.
using Origins = std::map<std::string, std::string>;

// Parses `words` (the command line without the program's name) with the one subcommand it names.
// Throws Error(kUsage) with one line for anything that is wrong, unknown names with the nearest;
// CLI::CallForHelp and the like pass through.
Origins parse(CLI::App& app, const std::vector<std::string>& words);

// The long names of all options of `command`, without dashes.
[[nodiscard]] std::vector<std::string> option_names(const CLI::App& command);

// Nothing but the words themselves, which name no subcommand unless `command` has some. Throws as
// parse() does.
void parse_words(CLI::App& command, std::vector<std::string> words);

// The resolved options as TOML, each with its origin: what a run directory keeps.
[[nodiscard]] std::string resolved_toml(const CLI::App& command, const Origins& origins);

}  // namespace outpace::cli
