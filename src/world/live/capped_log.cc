#include "live/capped_log.h"

#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/descriptor.h"

namespace outpace::live {
namespace {

// From this byte to the end, which may move meanwhile.
bool copy_from(int from, std::uintmax_t byte, int to) {
  constexpr std::size_t kPiece = std::size_t{1} << 22U;
  auto at = static_cast<off_t>(byte);
  while (true) {
    const ssize_t copied = sendfile(to, from, &at, kPiece);
    if (copied <= 0) {
      return copied == 0;
    }
  }
}

}  // namespace

void cap_log(const std::string& path, std::uintmax_t most) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  if (failed || size <= most) {
    return;
  }
  const std::string copy = path + ".1";
  const std::string begun = copy + ".tmp";
  const wire::Descriptor from(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const wire::Descriptor to(open(
      begun.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const bool whole =
      from.number() >= 0 && to.number() >= 0 && copy_from(from.number(), size - most, to.number());
  if (!whole || rename(begun.c_str(), copy.c_str()) != 0) {
    std::filesystem::remove(begun, failed);
    return;
  }
  [[maybe_unused]] const int emptied = ftruncate(from.number(), 0);
}

}  // namespace outpace::live
