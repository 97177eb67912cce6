// Reads a whole file that an option names.

#pragma once

#include <string>

namespace outpace::run {

// Throws a usage error that names the option if the file cannot be read, or is empty.
[[nodiscard]] std::string whole_file(const std::string& option, const std::string& path);

}  // namespace outpace::run
