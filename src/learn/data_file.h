// A whole file of data as text, read only if it is one.

#pragma once

#include <cstdint>
#include <string>

namespace outpace::learn {

// Larger files would not fit where the examples made of them have to.
inline constexpr std::uint64_t kDataFileBytesMax = std::uint64_t{2} << 30U;

// Throws a usage error that names the file, if it is missing, no regular file, empty, larger than
// kDataFileBytesMax, or cannot be read. Memory is taken for as many bytes as the file has.
[[nodiscard]] std::string read_data_file(const std::string& path);

}  // namespace outpace::learn
