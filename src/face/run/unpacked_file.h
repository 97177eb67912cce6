// A file block by block, unpacked if it is gzip's: for what may be too large to have whole.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <zlib.h>

namespace outpace::run {

class UnpackedFile {
 public:
  // Throws a usage error that begins with `path` if it cannot be opened, or is no regular file.
  explicit UnpackedFile(const std::string& path);

  // Valid until the next call; empty at the end. Throws as above if it cannot be read, or ends
  // within what gzip packed.
  [[nodiscard]] std::string_view next();

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose_r(file); }
  };

  const std::string path_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
  std::vector<char> block_;
};

}  // namespace outpace::run
