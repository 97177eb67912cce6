// Which launcher's variables a command goes by, and the variables.

#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "launch/place.h"

namespace outpace::cli {

void add_launcher_option(CLI::App& command, std::string& launcher);

// The variables of this process.
[[nodiscard]] launch::Variables environment_variables();

}  // namespace outpace::cli
