#include "run/whole_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace outpace::run {

std::string whole_file(const std::string& option, const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || (!(text << file.rdbuf()) && errno != 0)) {
    throw usage_error("--" + option + " " + path + ": cannot be read: " + std::strerror(errno));
  }
  if (text.str().empty()) {
    throw usage_error("--" + option + " " + path + ": is empty");
  }
  return text.str();
}

void write_whole_file(const std::string& option, const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text).flush()) {
    throw Error(ExitCode::kFailure, "--" + option + ": cannot write " + path);
  }
}

}  // namespace outpace::run
