#include "record/run_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"

namespace outpace::record {
namespace {

constexpr std::size_t kNumberMost = 31;  // Digits of a process.

// A new file, or one with the number of a process: it may be a hard link to a file of somebody's.
bool is_lock(int file) {
  std::array<char, kNumberMost + 1> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  return size >= 0 && size <= static_cast<ssize_t>(kNumberMost) &&
         std::all_of(text.begin(), text.begin() + size, [](char letter) {
           return letter >= '0' && letter <= '9';
         });
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666)) {
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
  if (!is_lock(file_)) {
    ::close(file_);
    throw usage_error(path.string() + ": is no lock of a run, and is left as it is; move it away");
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
