// control.json in a run's directory: where the server of a run that goes on is, and where its token
// is; not the token itself, for people copy run directories.

#pragma once

#include <filesystem>
#include <string>

namespace outpace::record {

struct ControlFile {
  std::string server;      // "127.0.0.1:40123" or "unix:/path".
  std::string token_file;  // Of mode 0600.

  bool operator==(const ControlFile&) const = default;
};

// Relative paths are made absolute. Throws Error if it cannot be written.
void write_control_file(const std::filesystem::path& path, const ControlFile& control);

// Throws a usage error that names the file if it is not a control file.
[[nodiscard]] ControlFile read_control_file(const std::filesystem::path& path);

}  // namespace outpace::record
