// A directory of a run's own that is gone when the run is.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace outpace::run {

// A place for the socket and the token that is gone when the run is: socket paths must be short.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "outpace-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error(ExitCode::kFailure, pattern + ": cannot make a temporary directory");
    }
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace outpace::run
