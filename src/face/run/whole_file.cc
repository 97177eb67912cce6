#include "run/whole_file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/descriptor.h"

namespace outpace::run {
namespace {

constexpr int kPatienceMs = 10'000;                         // For who writes into a pipe.
constexpr std::size_t kPipedMost = std::size_t{16} << 20U;  // Bytes of a pipe or a device.

}  // namespace

std::string whole_file(const std::string& option, const std::string& path) {
  const std::string where = "--" + option + " " + path;
  // Without blocking: a FIFO that nobody writes opens at once.
  const wire::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) {
    throw usage_error(where + ": cannot be read: " + std::strerror(errno));
  }
  const bool is_file = S_ISREG(status.st_mode);
  std::string text;
  std::vector<char> part(std::size_t{1} << 16U);
  while (true) {
    pollfd ready{.fd = file.number(), .events = POLLIN, .revents = 0};
    if (!is_file && ::poll(&ready, 1, kPatienceMs) == 0) {
      throw usage_error(where + ": nobody has written into it for 10 s");
    }
    const ssize_t got = ::read(file.number(), part.data(), part.size());
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      throw usage_error(where + ": cannot be read: " + std::strerror(errno));
    }
    if (got == 0) {
      break;
    }
    text.append(part.data(), static_cast<std::size_t>(std::max(got, ssize_t{0})));
    if (!is_file && text.size() > kPipedMost) {
      throw usage_error(where + ": has no end, and is no regular file");
    }
  }
  if (text.empty()) {
    throw usage_error(where + ": is empty");
  }
  return text;
}

void write_whole_file(const std::string& option, const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text).flush()) {
    throw Error(ExitCode::kFailure, "--" + option + ": cannot write " + path);
  }
}

}  // namespace outpace::run
