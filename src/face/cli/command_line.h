// The command line, read by CLI11 into a command's OptionList, with the layers below it.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "job/layers.h"
#include "job/option_list.h"

namespace outpace::cli {

// A command's own option: a TOML file with any of its options. And, for a process that another one
// of this program starts: a resolved configuration, which is all that counts.
inline constexpr const char* kConfigOption = "config";
inline constexpr const char* kResolvedOption = "resolved";
// The option of a command that goes on with a run: its directory, whose configuration counts.
inline constexpr const char* kResumeOption = "resume";

// Adds each option of the list to CLI11's command, for --help and for reading words.
void bind(const job::OptionList& options, CLI::App& command);

// With "--name=VALUE" for "--name VALUE" of options whose value may be left out, so that CLI11 does
// not take the value for a word of its own.
[[nodiscard]] std::vector<std::string> join_values(const std::vector<std::string>& words,
                                                   const job::OptionList& options);

// Throws a usage error that names an unknown option and the nearest one.
void check_words(const std::vector<std::string>& words,
                 const std::string& command,
                 const job::OptionList& options);

// Sets the options of `command`, which CLI11 has parsed, by all layers. Throws a usage error.
void set_options(const CLI::App& command,
                 const std::vector<std::string>& known_elsewhere,
                 job::OptionList& options);

// Throws a usage error in one line instead of CLI11's errors; --help and --version pass through.
void parse_words(CLI::App& app, std::vector<std::string> words);

// The variables of this process.
[[nodiscard]] std::map<std::string, std::string, std::less<>> environment_variables();

}  // namespace outpace::cli
