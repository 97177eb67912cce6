// A disk that hangs, for the program that loads this library first (LD_PRELOAD).
//
// As long as another process holds a lock on the file HANGS_WHILE_LOCKED, nothing can be written
// below the folder HANGS_UNDER: such a call waits for the lock, as it would for the disk.

#include <array>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

using Open = int (*)(const char*, int, ...);

void wait_for_disk(const std::string& path) {
  const char* folder = std::getenv("HANGS_UNDER");
  const char* lock = std::getenv("HANGS_WHILE_LOCKED");
  if (folder == nullptr || lock == nullptr || !path.starts_with(folder)) {
    return;
  }
  static const auto open_file = next<Open>("open");
  const int file = open_file(lock, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    flock(file, LOCK_SH);
    close(file);
  }
}

void wait_for_disk(int file) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  if (readlink(link.c_str(), path.data(), path.size() - 1) > 0) {
    wait_for_disk(std::string(path.data()));
  }
}

int open_as(const char* name, const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0) {
    wait_for_disk(std::string(path));
  }
  return next<Open>(name)(path, flags, mode);
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, size_t size) {
  static const auto write_file = next<ssize_t (*)(int, const void*, size_t)>("write");
  wait_for_disk(file);
  return write_file(file, data, size);
}

ssize_t writev(int file, const iovec* parts, int count) {
  static const auto write_file = next<ssize_t (*)(int, const iovec*, int)>("writev");
  wait_for_disk(file);
  return write_file(file, parts, count);
}

int fsync(int file) {
  static const auto sync_file = next<int (*)(int)>("fsync");
  wait_for_disk(file);
  return sync_file(file);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_as("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_as("open64", path, flags, mode);
}

}  // extern "C"
