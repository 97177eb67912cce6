#include "record/output_file.h"

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"

namespace outpace::record {
namespace {

constexpr std::size_t kEnoughToWrite = std::size_t{1} << 16U;
constexpr int kClosed = -1;

Error cannot_write(const std::filesystem::path& path, int error) {
  return Error(ExitCode::kFailure,
               "cannot write " + path.string() + ": " +
                   std::error_code(error, std::generic_category()).message());
}

int open_empty(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    throw cannot_write(path, errno);
  }
  return file;
}

// Returns the error number, or 0 once all is written.
int write_all(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file, data, size);
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    if (written > 0) {
      data += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  return 0;
}

// Makes the rename survive a power cut. Not every file system can do this, so failures are ignored.
void sync_folder(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

// Returns the error number, or 0. Closes the file in either case.
int write_parts(int file, std::span<const std::span<const char>> parts, bool sync) {
  int error = 0;
  for (const std::span<const char> part : parts) {
    error = error != 0 ? error : write_all(file, part.data(), part.size());
  }
  if (error == 0 && sync && ::fsync(file) != 0) {
    error = errno;
  }
  if (::close(file) != 0 && error == 0) {
    error = errno;
  }
  return error;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)), file_(open_empty(path_)) {}

OutputFile::~OutputFile() {
  if (file_ != kClosed) {
    static_cast<void>(write_all(file_, buffer_.data(), buffer_.size()));
    ::close(file_);
  }
}

void OutputFile::end_line() {
  buffer_.push_back('\n');
  if (buffer_.size() >= kEnoughToWrite) {
    flush();
  }
}

void OutputFile::flush() {
  CHECK(file_ != kClosed);
  const int error = write_all(file_, buffer_.data(), buffer_.size());
  // Even after a failure, because a half-written line must not be followed by its repetition.
  buffer_.clear();
  if (error != 0) {
    throw cannot_write(path_, error);
  }
}

void OutputFile::close() {
  flush();
  if (::close(std::exchange(file_, kClosed)) != 0) {
    throw cannot_write(path_, errno);
  }
}

void write_atomically(const std::filesystem::path& path,
                      std::span<const std::span<const char>> parts) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    // Writes to a device or pipe directly; renaming a file over it would destroy it.
    if (const int error = write_parts(open_empty(path), parts, false); error != 0) {
      throw cannot_write(path, error);
    }
    return;
  }
  std::filesystem::path temporary = path;
  temporary += ".tmp-" + std::to_string(::getpid());
  int error = 0;
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    throw cannot_write(path, errno);
  }
  error = write_parts(file, parts, true);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary.c_str());
    throw cannot_write(path, error);
  }
  sync_folder(path);
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  const std::span<const char> part(text.data(), text.size());
  write_atomically(path, std::span(&part, 1));
}

}  // namespace outpace::record
