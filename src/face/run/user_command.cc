#include "run/user_command.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <unistd.h>

#include "base/error.h"

namespace outpace::run {
namespace {

bool can_run(const std::string& program) {
  std::error_code ignored;
  return access(program.c_str(), X_OK) == 0 && !std::filesystem::is_directory(program, ignored);
}

}  // namespace

void check_program(const std::string& command, const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (!can_run(program)) {
      throw usage_error(command + ": " + program + " is not a program that can be run");
    }
    return;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (can_run((std::filesystem::path(folder.empty() ? "." : folder) / program).string())) {
      return;
    }
  }
  throw usage_error(command + ": there is no program '" + program + "' in PATH");
}

std::string quoted(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
    std::string shown = word;
    if (word.empty() || word.find_first_not_of(kPlain) != std::string::npos) {
      shown = "'";
      for (const char letter : word) {
        shown += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
      }
      shown += "'";
    }
    all += (all.empty() ? "" : " ") + shown;
  }
  return all;
}

}  // namespace outpace::run
