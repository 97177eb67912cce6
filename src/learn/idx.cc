#include "learn/idx.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include <zlib.h>

#include "base/error.h"

namespace outpace::learn {
namespace {

// What would be right, at the end of every message.
constexpr const char* kRemedy =
    "; install the package dataset-fashion-mnist or name another folder";

Error damaged(const std::string& path, const std::string& what) {
  return usage_error(path + ": " + what + kRemedy);
}

struct Close {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using File = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

// zlib reads a file that is not compressed as it is.
File open(const std::string& directory, const std::string& name, std::string& path) {
  const std::string plain = directory + "/" + name;
  for (const char* suffix : {".gz", ""}) {
    path = plain + suffix;
    errno = 0;
    File file(gzopen(path.c_str(), "rb"));
    if (file) {
      return file;
    }
    if (errno != ENOENT) {
      throw damaged(path, std::string("cannot be opened: ") + std::strerror(errno));
    }
  }
  throw damaged(plain + ".gz", "no such file");
}

// Fills `bytes`, unless the file ends first; returns how many came.
std::size_t read(gzFile file, const std::string& path, std::span<std::uint8_t> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    constexpr std::size_t kAtOnce = std::size_t{1} << 20U;
    const auto wanted = static_cast<unsigned>(std::min(kAtOnce, bytes.size() - filled));
    const int came = gzread(file, bytes.data() + filled, wanted);
    int code = Z_OK;
    const char* why = gzerror(file, &code);
    if (came < 0 || (code != Z_OK && code != Z_BUF_ERROR)) {
      // zlib's own words begin with the path.
      std::string_view reason = code == Z_ERRNO ? std::strerror(errno) : why;
      if (reason.starts_with(path + ": ")) {
        reason.remove_prefix(path.size() + 2);
      }
      throw damaged(path, "cannot be read: " + std::string(reason));
    }
    if (came == 0) {
      break;
    }
    filled += static_cast<std::size_t>(came);
  }
  return filled;
}

std::uint32_t big_endian(std::span<const std::uint8_t> bytes) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes.first(4)) {
    value = value << 8U | byte;
  }
  return value;
}

std::string hexadecimal(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

// The extents, the number of examples first.
std::vector<std::uint32_t> read_header(gzFile file,
                                       const std::string& path,
                                       const std::vector<std::uint32_t>& example_shape) {
  constexpr std::uint32_t kBytes = 0x800;  // The magic number of bytes of rank 0.
  const auto rank = static_cast<std::uint32_t>(1 + example_shape.size());
  std::vector<std::uint8_t> header(4 * std::size_t{1 + rank});
  const std::size_t came = read(file, path, header);
  if (came < header.size()) {
    throw damaged(path, "ends in its header, after " + std::to_string(came) + " bytes");
  }
  const std::uint32_t magic = big_endian(header);
  if (magic != kBytes + rank) {
    throw damaged(path,
                  "begins with " + hexadecimal(magic) + " where an IDX file of this kind has " +
                      hexadecimal(kBytes + rank));
  }
  std::vector<std::uint32_t> extents;
  for (std::uint32_t i = 1; i <= rank; ++i) {
    extents.push_back(big_endian(std::span(header).subspan(4 * std::size_t{i})));
  }
  if (extents[0] < 1 || extents[0] > kExamplesMax) {
    throw damaged(path,
                  "its header says " + std::to_string(extents[0]) + " examples, and 1 to " +
                      std::to_string(kExamplesMax) + " were expected");
  }
  for (std::uint32_t i = 1; i < rank; ++i) {
    if (extents[i] != example_shape[i - 1]) {
      throw damaged(path,
                    "its header says an extent of " + std::to_string(extents[i]) + " where " +
                        std::to_string(example_shape[i - 1]) + " was expected");
    }
  }
  return extents;
}

}  // namespace

Idx read_idx(const std::string& directory,
             const std::string& name,
             const std::vector<std::uint32_t>& example_shape) {
  Idx idx;
  const File file = open(directory, name, idx.path);
  idx.extents = read_header(file.get(), idx.path, example_shape);
  std::size_t total = 1;
  for (const std::uint32_t extent : idx.extents) {
    total *= extent;
  }
  constexpr std::size_t kStep = std::size_t{64} << 20U;
  while (idx.bytes.size() < total) {
    const std::size_t before = idx.bytes.size();
    idx.bytes.resize(std::min(total, before + kStep));
    const std::size_t came =
        before + read(file.get(), idx.path, std::span(idx.bytes).subspan(before));
    if (came < idx.bytes.size()) {
      throw damaged(idx.path,
                    "ends after " + std::to_string(came) + " bytes of " + std::to_string(total));
    }
  }
  std::array<std::uint8_t, 1> more{};
  if (read(file.get(), idx.path, more) != 0) {
    throw damaged(idx.path, "goes on after the " + std::to_string(total) + " bytes it should have");
  }
  return idx;
}

Idx read_idx_header(const std::string& directory,
                    const std::string& name,
                    const std::vector<std::uint32_t>& example_shape) {
  Idx idx;
  const File file = open(directory, name, idx.path);
  idx.extents = read_header(file.get(), idx.path, example_shape);
  return idx;
}

}  // namespace outpace::learn
