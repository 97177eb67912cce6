#include "record/output_file.h"

#include <algorithm>
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

int open_empty(const std::filesystem::path& path, int access = O_WRONLY) {
  const int file = ::open(path.c_str(), access | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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

// The file ends there, and the next write goes there. A device or pipe stays as it is.
void cut_back(int file, std::uint64_t size) {
  if (::ftruncate(file, static_cast<off_t>(size)) == 0) {
    ::lseek(file, static_cast<off_t>(size), SEEK_SET);
  }
}

std::string lines_in_words(std::uint64_t lines) {
  return std::to_string(lines) + (lines == 1 ? " line is" : " lines are");
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

OutputFile::OutputFile(std::filesystem::path path,
                       Gaps gaps,
                       std::function<void(OutputFile&)> before_write)
    : name_(path.string()),
      gaps_(std::move(gaps)),
      before_write_(std::move(before_write)),
      path_(std::move(path)),
      // What is under a gap's mark is read.
      file_(open_empty(path_, gaps_.told ? O_RDWR : O_WRONLY)) {
  CHECK(gaps_.queue == nullptr || gaps_.told);
}

OutputFile::~OutputFile() {
  if (gaps_.queue != nullptr) {
    gaps_.queue->wait();
  }
  if (file_ != kClosed) {
    static_cast<void>(write_all(file_, buffer_.data(), buffer_.size()));
    ::close(file_);
  }
}

void OutputFile::end_line() {
  buffer_.push_back('\n');
  ++lines_;
  if (buffer_.size() >= kEnoughToWrite) {
    flush();
  }
}

void OutputFile::flush() {
  if (lines_ == 0) {
    return;
  }
  std::string text(buffer_.data(), buffer_.size());
  // Even if it fails, because a half-written line must not be followed by its repetition.
  buffer_.clear();
  const std::uint64_t lines = std::exchange(lines_, 0);
  if (gaps_.queue == nullptr) {
    write(text, lines);
  } else {
    hand_over(std::move(text), lines);
  }
}

void OutputFile::hand_over(std::string text, std::uint64_t lines) {
  if (left_out_ > 0) {
    text.insert(0, gaps_.mark + "\n");
  }
  const std::size_t size = text.size();
  if (gaps_.queue->add(size, [this, text = std::move(text), lines] { write(text, lines); })) {
    if (const std::uint64_t missing = std::exchange(left_out_, 0); missing > 0) {
      gaps_.told(name_ + " is written again; " + lines_in_words(missing) + " missing");
    }
    return;
  }
  if (left_out_ == 0) {
    gaps_.told("cannot write " + name_ +
               ": the disk takes nothing; the run goes on, and its record has a gap");
  }
  left_out_ += lines;
}

void OutputFile::write(std::string_view text, std::uint64_t lines) {
  CHECK(file_ != kClosed);
  if (before_write_) {
    before_write_(*this);
  }
  const int error = write_all(file_, text.data(), text.size());
  if (error == 0) {
    size_ += text.size();
    if (const std::uint64_t missing = std::exchange(missing_, 0); missing > 0) {
      gaps_.told(path_.string() + " can be written again; " + lines_in_words(missing) + " missing");
    }
    return;
  }
  if (!gaps_.told) {
    throw cannot_write(path_, error);
  }
  if (missing_ == 0) {
    begin_gap(error);
  } else {
    cut_back(file_, size_);
  }
  missing_ += lines;
}

void OutputFile::go_on_in(const std::filesystem::path& path, std::string_view first_line) {
  const int next = open_empty(path, gaps_.told ? O_RDWR : O_WRONLY);
  end_file();
  path_ = path;
  file_ = next;
  size_ = 0;
  missing_ = 0;
  write(std::string(first_line) + "\n", 1);
}

void OutputFile::begin_gap(int error) {
  cut_back(file_, size_);
  const std::string mark = gaps_.mark + "\n";
  if (write_all(file_, mark.data(), mark.size()) == 0) {  // Smaller than what did not fit.
    size_ += mark.size();
  } else if (!overwrite_with_mark(mark)) {
    cut_back(file_, size_);
  }
  gaps_.told(cannot_write(path_, error).what() +
             std::string("; the run goes on, and its record has a gap"));
}

bool OutputFile::overwrite_with_mark(std::string_view mark) {
  constexpr std::uint64_t kTail = 4096;
  const std::uint64_t begin = size_ - std::min(size_, kTail);
  std::string tail(size_ - begin, '\0');
  if (::pread(file_, tail.data(), tail.size(), static_cast<off_t>(begin)) !=
      static_cast<ssize_t>(tail.size())) {
    return false;
  }
  // The last line's end from which on there is room; the first line says what the file is.
  const std::size_t room = tail.size() - std::min(tail.size(), mark.size());
  const std::size_t end = room == 0 ? std::string::npos : tail.rfind('\n', room - 1);
  if (end == std::string::npos) {
    return false;
  }
  const std::uint64_t place = begin + end + 1;
  if (::pwrite(file_, mark.data(), mark.size(), static_cast<off_t>(place)) !=
      static_cast<ssize_t>(mark.size())) {
    return false;
  }
  missing_ += static_cast<std::uint64_t>(std::ranges::count(tail.substr(end + 1), '\n'));
  size_ = place + mark.size();
  cut_back(file_, size_);
  return true;
}

void OutputFile::close() {
  if (gaps_.queue != nullptr) {
    gaps_.queue->wait();  // So that there is room for the rest.
  }
  flush();
  if (gaps_.queue != nullptr) {
    gaps_.queue->wait();
  }
  end_file();
}

void OutputFile::end_file() {
  if (missing_ > 0) {
    gaps_.told(path_.string() + ": " + lines_in_words(missing_) + " missing at its end");
  }
  if (::close(std::exchange(file_, kClosed)) != 0) {
    const Error error = cannot_write(path_, errno);
    if (!gaps_.told) {
      throw error;
    }
    gaps_.told(error.what());
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
