#include "record/control_file.h"

#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/output_file.h"

namespace outpace::record {
namespace {

constexpr std::string_view kUnix = "unix:";

// A path may have any bytes, but JSON cannot express all of them.
std::string written(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

void write_control_file(const std::filesystem::path& path, const ControlFile& control) {
  std::string server = control.server;
  if (server.starts_with(kUnix)) {
    server = std::string(kUnix) + std::filesystem::absolute(server.substr(kUnix.size())).string();
  }
  write_atomically(
      path,
      written({{"server", server},
               {"token_file", std::filesystem::absolute(control.token_file).string()}}));
}

ControlFile read_control_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  const auto is_text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string();
  };
  if (!is_text("server") || !is_text("token_file")) {
    throw usage_error(path.string() + ": not a control file; name --server and --token-file");
  }
  return {.server = json["server"], .token_file = json["token_file"]};
}

}  // namespace outpace::record
