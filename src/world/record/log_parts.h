// The parts of a decision log that is kept below a size, as they are on disk.
// Tested by src/world/record/decision_log_test.cc.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace outpace::record {

// The first part after this one that is there; nothing if none is.
[[nodiscard]] std::optional<std::uint32_t> next_part_there(const std::filesystem::path& first_part,
                                                           std::uint32_t after);

}  // namespace outpace::record
