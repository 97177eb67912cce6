// A TOML file of a run, such as its configuration, which anybody may have written.

#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>

#include <toml++/toml.h>

#include "base/error.h"
#include "base/toml_nesting.h"

namespace outpace::record {

// Throws toml::parse_error as the parser does, and a usage error if it nests too deep for that.
[[nodiscard]] inline toml::table read_toml_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    return toml::parse_file(path.string());  // Says why it cannot be read.
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (nests_too_deep(text.str())) {
    throw usage_error(path.string() + ": nests deeper than any configuration does");
  }
  return toml::parse(text.str(), path.string());
}

}  // namespace outpace::record
