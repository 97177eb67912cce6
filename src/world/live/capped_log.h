// A file that children append to, kept small: a script that prints without end fills no disk.

#pragma once

#include <cstdint>
#include <string>

namespace outpace::live {

inline constexpr std::uintmax_t kLogMost = std::uintmax_t{64} << 20U;  // 64 MiB.

// If the file is larger than `most` bytes: moves its newest `most` to PATH.1, in place of what was
// there, and empties it. Children go on appending, at its begin; what one writes at this moment may
// be lost. Leaves the file as it is where it cannot be copied, say on a full disk.
void cap_log(const std::string& path, std::uintmax_t most = kLogMost);

}  // namespace outpace::live
