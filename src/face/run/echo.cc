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

void Echo::finish(const std::function<bool()>& wait) {
  for (Followed& followed : files_) {
    bool all = look(followed);
    while (!all && wait && wait()) {
      all = look(followed);
    }
    if (!followed.partial.empty()) {
      show_(followed.name + ": " + shown(followed.partial));
      followed.partial.clear();
    }
    if (!all) {
      show_(followed.name + ": the rest of its output is in " + followed.path);
    }
  }
}

bool Echo::look(Followed& followed) {
  const std::uintmax_t size = size_now(followed.path);
  followed.at = size < followed.at ? 0 : followed.at;  // It was full, and was emptied.
  if (size == followed.at) {
    return true;
  }
  std::ifstream file(followed.path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(followed.at));
  std::array<char, 4096> piece{};
  while (!has_room_ || has_room_()) {
    file.read(piece.data(), piece.size());
    const auto read = static_cast<std::size_t>(file.gcount());
    if (read == 0) {
      return true;
    }
    followed.at += read;
    for (std::size_t i = 0; i < read; ++i) {
      if (piece[i] != '\n') {
        followed.partial += piece[i];
      }
      if (piece[i] == '\n' || followed.partial.size() >= kLineMost) {
        show_(followed.name + ": " + shown(followed.partial));
        followed.partial.clear();
      }
    }
  }
  return false;
}

}  // namespace outpace::run
