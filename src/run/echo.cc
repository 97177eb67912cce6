#include "run/echo.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "run/failures.h"

namespace outpace::run {
namespace {

constexpr std::size_t kLineMost = 4096;  // Longer ones are shown in pieces.

std::uintmax_t size_now(const std::string& path) {
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  return ignored ? 0 : size;
}

}  // namespace

void Echo::follow(const std::string& path, const std::string& name) {
  files_.push_back({.path = path, .name = name, .at = size_now(path), .partial = {}});
}

void Echo::look() {
  for (Followed& followed : files_) {
    look(followed);
  }
}

void Echo::finish() {
  look();
  for (Followed& followed : files_) {
    if (!followed.partial.empty()) {
      show_(followed.name + ": " + shown(followed.partial));
      followed.partial.clear();
    }
  }
}

void Echo::look(Followed& followed) {
  if (size_now(followed.path) <= followed.at) {
    return;
  }
  std::ifstream file(followed.path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(followed.at));
  std::array<char, 4096> piece{};
  while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
    const auto size = static_cast<std::size_t>(file.gcount());
    followed.at += size;
    for (std::size_t i = 0; i < size; ++i) {
      if (piece[i] != '\n') {
        followed.partial += piece[i];
      }
      if (piece[i] == '\n' || followed.partial.size() >= kLineMost) {
        show_(followed.name + ": " + shown(followed.partial));
        followed.partial.clear();
      }
    }
  }
}

}  // namespace outpace::run
