// Creates or opens a run's directory, and names the files in it. A value; it keeps nothing open.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace outpace::record {

inline constexpr const char* kRuntimeModelName = "runtime_model.safetensors";

class RunDirectory {
 public:
  // Creates <runs>/<UTC yyyymmdd-hhmmss>-<policy>, and <runs> if needed. Appends -2, -3, ... if the
  // directory exists, even if two runs start at the same moment. Throws Error on failure.
  [[nodiscard]] static RunDirectory create(const std::filesystem::path& runs,
                                           std::chrono::system_clock::time_point started,
                                           std::string_view policy);
  // Creates the directory of --out. Throws a usage error if it exists and is not empty, because a
  // run never overwrites another.
  [[nodiscard]] static RunDirectory create_at(const std::filesystem::path& out);
  // The directory of a run that goes on: what the servers before this one recorded moves into
  // earlier/<generation - 1>/. Throws Error on failure.
  [[nodiscard]] static RunDirectory reopen(const std::filesystem::path& directory,
                                           std::uint32_t generation);
  // Opens an existing directory for reading. Throws a usage error if it is not a directory.
  [[nodiscard]] static RunDirectory open(const std::filesystem::path& directory);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path config() const { return path_ / "config.toml"; }
  [[nodiscard]] std::filesystem::path decisions() const { return path_ / "decisions.jsonl"; }
  [[nodiscard]] std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path runtimes() const { return path_ / "runtimes.csv"; }
  [[nodiscard]] std::filesystem::path weights() const { return path_ / "weights.safetensors"; }
  // Throws a usage error that says why if there are no decisions: the run had no server, or kept
  // none.
  void check_decided() const;
  // The fitted runtime model of the policy, if it used one.
  [[nodiscard]] std::filesystem::path runtime_model() const { return path_ / kRuntimeModelName; }
  [[nodiscard]] std::filesystem::path summary() const { return path_ / "summary.json"; }
  // Exists while the run is going on: where its server is (control_file.h).
  [[nodiscard]] std::filesystem::path control() const { return path_ / "control.json"; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  [[nodiscard]] std::filesystem::path lock() const { return path_ / "lock"; }
  [[nodiscard]] std::filesystem::path log() const { return path_ / "server.log"; }

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace outpace::record
