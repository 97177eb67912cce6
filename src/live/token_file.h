// The file that holds a job's token: only its owner may read it.

#pragma once

#include <string>

namespace outpace::live {

// Throws a usage error if the file is missing, empty, or readable by others.
[[nodiscard]] std::string read_token_file(const std::string& path);

}  // namespace outpace::live
