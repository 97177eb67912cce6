#include "record/zstd_file.h"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "record/output_file.h"

namespace outpace::record {
namespace {

namespace fs = std::filesystem;

constexpr int kLevel = 3;  // zstd's own default.

std::string system_words() {
  return std::error_code(errno, std::generic_category()).message();
}

std::vector<char> whole_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (!failed && size > kCompressedMost) {
    throw Error(ExitCode::kFailure, path.string() + " is too large to compress");
  }
  std::vector<char> bytes(failed ? 0 : size);
  if (failed || !in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw Error(ExitCode::kFailure, "cannot read " + path.string() + ": " + system_words());
  }
  return bytes;
}

Error damaged(const fs::path& path, const std::string& why) {
  return usage_error(path.string() + ": not a file that zstd has compressed whole: " + why);
}

// What the frame's first bytes say.
std::uint64_t said_bytes(const fs::path& path) {
  constexpr std::size_t kHead = 18;  // The longest head of a frame.
  std::ifstream in(path, std::ios::binary);
  std::string head(kHead, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  const auto found = ZSTD_getFrameContentSize(
      head.data(), static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (found == ZSTD_CONTENTSIZE_UNKNOWN || found == ZSTD_CONTENTSIZE_ERROR) {
    throw damaged(path, "it does not say how large it is");
  }
  if (found > kCompressedMost) {
    throw damaged(path, "it says that it has " + std::to_string(found) + " bytes");
  }
  return found;
}

// Throws unless the content is as large as the frame says.
void copy_content(const fs::path& from, std::ofstream& to) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  std::ifstream in(from, std::ios::binary);
  std::vector<char> packed(ZSTD_DStreamInSize());
  std::vector<char> text(ZSTD_DStreamOutSize());
  const std::uint64_t most = said_bytes(from);
  std::uint64_t written = 0;
  std::size_t left = 1;  // 0: the frame is whole.
  while (in.read(packed.data(), static_cast<std::streamsize>(packed.size())) || in.gcount() > 0) {
    ZSTD_inBuffer input{packed.data(), static_cast<std::size_t>(in.gcount()), 0};
    while (input.pos < input.size) {
      ZSTD_outBuffer output{text.data(), text.size(), 0};
      left = ZSTD_decompressStream(context.get(), &output, &input);
      if (ZSTD_isError(left) != 0) {
        throw damaged(from, ZSTD_getErrorName(left));
      }
      written += output.pos;
      if (written > most) {
        throw damaged(from, "there is more than it says");
      }
      to.write(text.data(), static_cast<std::streamsize>(output.pos));
    }
  }
  if (left != 0 || written != most) {
    throw damaged(from, "its end is missing");
  }
}

}  // namespace

fs::path compressed_name(const fs::path& file) {
  return file.string() + kCompressed;
}

std::uint64_t compress_file(const fs::path& file) {
  const std::vector<char> text = whole_file(file);
  std::vector<char> packed(ZSTD_compressBound(text.size()));
  const std::size_t bytes =
      ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(bytes) != 0) {
    throw Error(ExitCode::kFailure,
                "cannot compress " + file.string() + ": " + ZSTD_getErrorName(bytes));
  }
  write_atomically(compressed_name(file), std::string_view(packed.data(), bytes));
  std::error_code ignored;
  fs::remove(file, ignored);
  return bytes;
}

std::optional<std::uint64_t> content_bytes(const fs::path& file) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  if (!failed) {
    return size;
  }
  if (!fs::is_regular_file(compressed_name(file), failed)) {
    return std::nullopt;
  }
  return said_bytes(compressed_name(file));
}

std::ifstream open_content(const fs::path& file) {
  std::ifstream plain(file, std::ios::binary);
  std::error_code failed;
  const int why = errno;
  if (plain || !fs::is_regular_file(compressed_name(file), failed)) {
    errno = why;
    return plain;
  }
  std::string name = (fs::temp_directory_path() / "outpace-log-XXXXXX").string();
  const int made = ::mkostemp(name.data(), O_CLOEXEC);
  if (made < 0) {
    throw Error(ExitCode::kFailure, "cannot write " + name + ": " + system_words());
  }
  ::close(made);
  std::ofstream out(name, std::ios::binary);
  std::ifstream copy(name, std::ios::binary);
  fs::remove(name, failed);  // Open streams keep it.
  copy_content(compressed_name(file), out);
  if (!out.flush()) {
    throw Error(ExitCode::kFailure,
                "cannot write what " + compressed_name(file).string() + " has into " +
                    fs::temp_directory_path().string() + ": " + system_words());
  }
  return copy;
}

}  // namespace outpace::record
