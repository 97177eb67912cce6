// A place for a run's socket and token that is gone when the run is. Socket paths must be short.
//
// A run that is killed cannot remove its directory, so the next run of the same user does. The
// owner of a directory holds a lock on it, which the kernel frees when the owner ends. A file in it
// says that this program made it.

#pragma once

#include <filesystem>
#include <string>

#include "wire/descriptor.h"

namespace outpace::run {

class ScratchDirectory {
 public:
  // Makes it in `parent`, and removes there what dead runs of this user have left.
  explicit ScratchDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  // What the destructor does, for a process that ends without it.
  void remove() const;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  wire::Descriptor lock_;
};

}  // namespace outpace::run
