// Where values come from: defaults < TOML file < environment OUTPACE_* < command line.
//
// `--policy P` is `policy = "P"` in the file and OUTPACE_POLICY in the environment. A later layer
// replaces an option of an earlier one wholly, also if the option may be given several times. Then
// each option is set once, with the origin of its value. Pure: files and variables come as texts.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "job/option_list.h"

namespace outpace::job {

inline constexpr const char* kCommandLine = "command line";
inline constexpr const char* kEnvironment = "environment";

struct Given {
  std::string option;  // Its name, without dashes.
  std::vector<std::string> values;
  std::string origin;
};

// The options in the TOML text of the file at `path`. Throws a usage error "path:line: ..." for a
// wrong file or an unknown key, with the nearest one.
[[nodiscard]] std::vector<Given> from_toml(std::string_view text,
                                           const std::string& path,
                                           const OptionList& options);

// The options in the variables OUTPACE_*. A variable that names an option of another command
// (`known_elsewhere`) is left alone: users set it for many commands at once. Throws a usage error
// for any other, with the nearest one.
[[nodiscard]] std::vector<Given> from_environment(
    const std::map<std::string, std::string, std::less<>>& variables,
    const OptionList& options,
    const std::vector<std::string>& known_elsewhere);

// "policy" -> "OUTPACE_POLICY".
[[nodiscard]] std::string variable_of(std::string_view option);

// The later layers over the earlier ones. REQUIRES: every option named is in the list. Throws what
// Option::set() throws.
void set_layers(OptionList& options, const std::vector<std::vector<Given>>& layers);

// All options with their values as TOML, each with its origin: what a run directory keeps, and what
// a child process is told. It can be read again by from_toml().
[[nodiscard]] std::string resolved_toml(const std::string& command, const OptionList& options);

}  // namespace outpace::job
