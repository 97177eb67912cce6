#include "learn/data_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace outpace::learn {

std::string read_data_file(const std::string& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw usage_error(path + ": no such file; name the one that holds the data");
  }
  // A device or a pipe has no known end, and not every worker could read it again.
  if (status.type() != std::filesystem::file_type::regular) {
    throw usage_error(path + (failure ? ": cannot be read: " + failure.message()
                                      : ": is no regular file; name the one that holds the data"));
  }
  const std::uint64_t bytes = std::filesystem::file_size(path, failure);
  if (failure) {
    throw usage_error(path + ": cannot be read: " + failure.message());
  }
  if (bytes == 0 || bytes > kDataFileBytesMax) {
    throw usage_error(path + (bytes == 0 ? ": is empty" : ": is too large") + "; a file of 1 to " +
                      std::to_string(kDataFileBytesMax) + " bytes was expected");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    throw usage_error(path + ": cannot be read: " +
                      (errno != 0 ? std::strerror(errno) : "it became shorter meanwhile"));
  }
  return text;
}

}  // namespace outpace::learn
