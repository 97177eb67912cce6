// One function a subcommand: declares its options on the app, and what it does when it is chosen.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/arguments.h"

namespace outpace::cli {

// Runs after parsing; gives the exit code.
using Run = std::function<int(const CLI::App& command, const Origins& origins)>;

using AddCommand = Run (*)(CLI::App& command);

[[nodiscard]] Run add_train(CLI::App& command);
[[nodiscard]] Run add_server(CLI::App& command);
[[nodiscard]] Run add_worker(CLI::App& command);
[[nodiscard]] Run add_evaluator(CLI::App& command);
[[nodiscard]] Run add_peer(CLI::App& command);
[[nodiscard]] Run add_cutoff(CLI::App& command);
[[nodiscard]] Run add_fit(CLI::App& command);
[[nodiscard]] Run add_policies(CLI::App& command);
[[nodiscard]] Run add_profile(CLI::App& command);
[[nodiscard]] Run add_profile_of_trace(CLI::App& command);  // All that it can without libtorch.
[[nodiscard]] Run add_plan(CLI::App& command);
[[nodiscard]] Run add_predict(CLI::App& command);
[[nodiscard]] Run add_replay(CLI::App& command);
[[nodiscard]] Run add_ctl(CLI::App& command);
[[nodiscard]] Run add_simulate(CLI::App& command);
[[nodiscard]] Run add_whatif(CLI::App& command);
[[nodiscard]] Run add_compare(CLI::App& command);
[[nodiscard]] Run add_calibrate(CLI::App& command);

// Throws what simulate with these options would throw before it begins: for a command that is going
// to run many. Neither environment nor --config count.
void check_simulate(const std::vector<std::string>& words);

}  // namespace outpace::cli
