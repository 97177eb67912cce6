// Reads and writes whole files that options name.

#pragma once

#include <string>

namespace outpace::run {

// Throws a usage error that names the option if the file cannot be read, or is empty.
[[nodiscard]] std::string whole_file(const std::string& option, const std::string& path);

// Throws Error that names the option if the file cannot be written.
void write_whole_file(const std::string& option, const std::string& path, const std::string& text);

}  // namespace outpace::run
