// One process at a time writes into a run's directory.

#pragma once

#include <filesystem>

namespace outpace::record {

// Held until it is destroyed, or the process ends in whatever way.
class RunLock {
 public:
  // Throws a usage error that names the process if another one holds it.
  explicit RunLock(const std::filesystem::path& path);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_;
};

}  // namespace outpace::record
