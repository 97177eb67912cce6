// Reads a run's directory for `outpace whatif`.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/recorded_run.h"

namespace outpace::record {

// How many gradients of a long record are read: 500 of each worker, and 20,000 to 100,000 of all.
// A policy that fits a model decides 0.1 ms for each, and it is simulated some 80 times.
[[nodiscard]] std::uint64_t sampled_gradients(std::uint32_t workers);

// decisions.jsonl has all but processor time and communication, so the record of a run that was
// killed will do; those two are in summary.json and config.toml. If the run has more gradients than
// `most` (nothing: sampled_gradients() of its workers), some stretches of the record are read, one
// after another as if nothing had been between them; a note says so. Throws a usage error that
// names the file if one of them is not what a run writes.
[[nodiscard]] policy::FoundRun read_recorded_run(const std::string& directory,
                                                 std::optional<std::uint64_t> most = std::nullopt);

}  // namespace outpace::record
