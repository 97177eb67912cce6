// `--topology`: a parameter server, or workers that talk to each other; and which options mean
// nothing without a server.

#pragma once

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "collective/tally.h"

namespace outpace::cli {

void add_topology_options(CLI::App& command, JobOptions& options);

// After parsing. Throws a usage error if the topology is not known, or for an option that was given
// and belongs to another one. Without a server the policy becomes that which the topology is like,
// sync for a ring and async for a gossip.
void fit_topology(const CLI::App& command, JobOptions& options);

// REQUIRES: fit_topology() passed, and it is not a server.
[[nodiscard]] collective::Topology without_server(const JobOptions& options);

}  // namespace outpace::cli
