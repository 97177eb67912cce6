// Tested by src/world/learn/images_test.cc.

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

struct Close {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using File = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

// An open file, and what its messages need.
class Source {
 public:
  // zlib passes through files that are not compressed.
  Source(const std::string& directory, const std::string& name, const std::string& remedy)
      : remedy_(remedy) {
    const std::string plain = directory + "/" + name;
    for (const char* suffix : {".gz", ""}) {
      path_ = plain + suffix;
      errno = 0;
      file_.reset(gzopen(path_.c_str(), "rb"));
      if (file_) {
        return;
      }
      if (errno != ENOENT) {
        throw damaged(std::string("cannot be opened: ") + std::strerror(errno));
      }
    }
    path_ = plain + ".gz";
    throw damaged("no such file");
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Error damaged(const std::string& what) const {
    return usage_error(path_ + ": " + what + remedy_);
  }

  // Fills `bytes` unless the file ends first; returns how many were read.
  std::size_t read(std::span<std::uint8_t> bytes) const {
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      constexpr std::size_t kAtOnce = std::size_t{1} << 20U;
      const auto wanted = static_cast<unsigned>(std::min(kAtOnce, bytes.size() - filled));
      const int came = gzread(file_.get(), bytes.data() + filled, wanted);
      int code = Z_OK;
      const char* why = gzerror(file_.get(), &code);
      if (came < 0 || (code != Z_OK && code != Z_BUF_ERROR)) {
        // zlib's own messages begin with the path.
        std::string_view reason = code == Z_ERRNO ? std::strerror(errno) : why;
        if (reason.starts_with(path_ + ": ")) {
          reason.remove_prefix(path_.size() + 2);
        }
        throw damaged("cannot be read: " + std::string(reason));
      }
      if (came == 0) {
        break;
      }
      filled += static_cast<std::size_t>(came);
    }
    return filled;
  }

 private:
  const std::string& remedy_;
  std::string path_;
  File file_;
};

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

void check_extent(const Source& source, std::uint32_t extent, std::uint32_t expected) {
  const bool right = expected == 0 ? extent >= 1 && extent <= kSideMax : extent == expected;
  if (!right) {
    throw source.damaged(
        "its header says an extent of " + std::to_string(extent) + " where " +
        (expected == 0 ? "1 to " + std::to_string(kSideMax) : std::to_string(expected)) +
        " was expected");
  }
}

// The extents; the first is the number of examples.
std::vector<std::uint32_t> read_header(const Source& source,
                                       const std::vector<std::uint32_t>& example_shape) {
  constexpr std::uint32_t kBytes = 0x800;  // The magic number of bytes of rank 0.
  const auto rank = static_cast<std::uint32_t>(1 + example_shape.size());
  std::vector<std::uint8_t> header(4 * std::size_t{1 + rank});
  const std::size_t came = source.read(header);
  if (came < header.size()) {
    throw source.damaged("ends in its header, after " + std::to_string(came) + " bytes");
  }
  const std::uint32_t magic = big_endian(header);
  if (magic != kBytes + rank) {
    throw source.damaged("begins with " + hexadecimal(magic) +
                         " where an IDX file of this kind has " + hexadecimal(kBytes + rank));
  }
  std::vector<std::uint32_t> extents;
  for (std::uint32_t i = 1; i <= rank; ++i) {
    extents.push_back(big_endian(std::span(header).subspan(4 * std::size_t{i})));
  }
  if (extents[0] < 1 || extents[0] > kExamplesMax) {
    throw source.damaged("its header says " + std::to_string(extents[0]) + " examples, and 1 to " +
                         std::to_string(kExamplesMax) + " were expected");
  }
  for (std::uint32_t i = 1; i < rank; ++i) {
    check_extent(source, extents[i], example_shape[i - 1]);
  }
  return extents;
}

}  // namespace

Idx read_idx(const std::string& directory, const std::string& name, const IdxForm& form) {
  const Source source(directory, name, form.remedy);
  Idx idx{.path = source.path(), .extents = read_header(source, form.example_shape), .bytes = {}};
  std::size_t total = 1;
  for (const std::uint32_t extent : idx.extents) {
    total *= extent;  // At most 4e6 * 4096 * 4096.
  }
  constexpr std::size_t kStep = std::size_t{64} << 20U;
  while (idx.bytes.size() < total) {
    const std::size_t before = idx.bytes.size();
    idx.bytes.resize(std::min(total, before + kStep));
    const std::size_t came = before + source.read(std::span(idx.bytes).subspan(before));
    if (came < idx.bytes.size()) {
      throw source.damaged("ends after " + std::to_string(came) + " bytes of " +
                           std::to_string(total));
    }
  }
  std::array<std::uint8_t, 1> more{};
  if (source.read(more) != 0) {
    throw source.damaged("goes on after the " + std::to_string(total) + " bytes it should have");
  }
  return idx;
}

Idx read_idx_header(const std::string& directory, const std::string& name, const IdxForm& form) {
  const Source source(directory, name, form.remedy);
  return {.path = source.path(), .extents = read_header(source, form.example_shape), .bytes = {}};
}

}  // namespace outpace::learn
