#include "run/unpacked_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace outpace::run {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;

}  // namespace

UnpackedFile::UnpackedFile(const std::string& path) : path_(path), block_(kBlockBytes) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw usage_error(path + ": is no regular file");
  }
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));  // Reads a file that is not packed as it is.
  if (!file_) {
    throw usage_error(path +
                      ": cannot be opened: " + (errno == 0 ? "no memory" : std::strerror(errno)));
  }
}

std::string_view UnpackedFile::next() {
  const int came = gzread(file_.get(), block_.data(), static_cast<unsigned>(block_.size()));
  int code = Z_OK;
  (void)gzerror(file_.get(), &code);
  if (came <= 0 && code == Z_BUF_ERROR) {
    throw usage_error(path_ + ": is cut short: what gzip packed goes on after its end");
  }
  if (came < 0 || (came == 0 && code != Z_OK && code != Z_STREAM_END)) {
    const bool is_system = code == Z_ERRNO;
    throw usage_error(fmt::format("{}: cannot be read: {}",
                                  path_,
                                  is_system ? std::strerror(errno) : "damaged, by gzip's check"));
  }
  return {block_.data(), static_cast<std::size_t>(came)};
}

}  // namespace outpace::run
