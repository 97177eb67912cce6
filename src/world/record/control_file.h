// control.json in a run's directory: where to find the server of a running run, and the file with
// its token. It does not contain the token, because people copy run directories.

#pragma once

#include <filesystem>
#include <string>

namespace outpace::record {

struct ControlFile {
  std::string server;      // "127.0.0.1:40123" or "unix:/path".
  std::string token_file;  // Mode 0600.

  bool operator==(const ControlFile&) const = default;
};

// Makes relative paths absolute. Throws Error if the file cannot be written.
void write_control_file(const std::filesystem::path& path, const ControlFile& control);

// Throws a usage error that names the file if it is not a control file.
[[nodiscard]] ControlFile read_control_file(const std::filesystem::path& path);

}  // namespace outpace::record
