#include "record/run_lock.h"

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"

namespace outpace::record {

RunLock::RunLock(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) {
    throw Error(ExitCode::kFailure,
                "cannot write " + path.string() + ": " +
                    std::error_code(errno, std::generic_category()).message());
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    std::array<char, 32> holder{};
    const ssize_t size = ::pread(file_, holder.data(), holder.size() - 1, 0);
    ::close(file_);
    throw usage_error(path.parent_path().string() + ": the run goes on, in process " +
                      (size > 0 ? std::string(holder.data()) : "of an unknown number") +
                      "; end that first");
  }
  const std::string own = std::to_string(::getpid());
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, own.data(), own.size(), 0) < 0) {
    return;  // A full disk: the lock holds all the same.
  }
}

RunLock::~RunLock() {
  ::close(file_);
}

}  // namespace outpace::record
