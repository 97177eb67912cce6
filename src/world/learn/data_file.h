// Reads a whole data file as text, if it is a regular file.

#pragma once

#include <cstdint>
#include <string>

namespace outpace::learn {

// The examples made from a larger file would not fit into memory.
inline constexpr std::uint64_t kDataFileBytesMax = std::uint64_t{2} << 30U;

// Throws a usage error that names the file if it is missing, not a regular file, empty, larger than
// kDataFileBytesMax, or unreadable. Allocates no more than the file's size.
[[nodiscard]] std::string read_data_file(const std::string& path);

}  // namespace outpace::learn
