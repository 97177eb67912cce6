#include "run/whole_file.h"

#include <fstream>
#include <sstream>

#include "base/error.h"

namespace outpace::run {

std::string whole_file(const std::string& option, const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw usage_error("--" + option + " " + path + ": the file cannot be read, or is empty");
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
