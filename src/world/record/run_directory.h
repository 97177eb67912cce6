// Creates or opens a run's directory, and names the files in it. A value; it keeps nothing open.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

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
  // earlier/<generation - 1>/, and other files stay. If an earlier server's record is there
  // already, it stays, and the new one takes <generation - 1>-2, -3, ... config.toml is copied, so
  // that a process of the run can always read one. Throws Error on failure.
  [[nodiscard]] static RunDirectory reopen(const std::filesystem::path& directory,
                                           std::uint32_t generation);
  // Opens an existing directory for reading. Throws a usage error if it is not a directory, or has
  // a FIFO or a device in place of a file of the record: to read it might never end.
  [[nodiscard]] static RunDirectory open(const std::filesystem::path& directory);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path config() const { return path_ / "config.toml"; }
  [[nodiscard]] std::filesystem::path decisions() const { return path_ / "decisions.jsonl"; }
  // Without a server, in place of that: a log of each process. Nothing: the host's.
  [[nodiscard]] std::filesystem::path peer_decisions(std::optional<WorkerId> worker) const;
  [[nodiscard]] std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path unusable() const { return path_ / "unusable.csv"; }
  [[nodiscard]] std::filesystem::path runtimes() const { return path_ / "runtimes.csv"; }
  [[nodiscard]] std::filesystem::path weights() const { return path_ / "weights.safetensors"; }
  // What the workers' script keeps beside the weights, if anything.
  [[nodiscard]] std::filesystem::path constants() const { return path_ / "constants.safetensors"; }
  // Throws a usage error that says why if there are no decisions of a server: the run had none, or
  // kept none.
  void check_decided() const;
  [[nodiscard]] bool has_peer_decisions() const;
  // The fitted runtime model of the policy, if it used one.
  [[nodiscard]] std::filesystem::path runtime_model() const { return path_ / kRuntimeModelName; }
  [[nodiscard]] std::filesystem::path summary() const { return path_ / "summary.json"; }
  // What the page shows of the run once it is over (dashboard/recorded_page.h).
  [[nodiscard]] std::filesystem::path page() const { return path_ / "page.jsonl"; }
  // What the server of this generation recorded, if another one went on with the run.
  [[nodiscard]] std::filesystem::path earlier(std::uint32_t generation) const {
    return path_ / "earlier" / std::to_string(generation);
  }
  // Exists while the run is going on: where its server is (control_file.h).
  [[nodiscard]] std::filesystem::path control() const { return path_ / "control.json"; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  // If earlier/ takes more than this, removes the decisions, runtimes and logs of the first servers
  // until it does not; their metrics and summaries stay. Returns of how many servers, from the
  // first on, they are gone; 0: it was not too large.
  std::uint32_t cap_earlier(std::uintmax_t most) const;
  // What the servers before the present one recorded.
  [[nodiscard]] std::filesystem::path earlier() const { return path_ / "earlier"; }
  // What the processes of this machine print.
  [[nodiscard]] std::filesystem::path logs() const { return path_ / "logs"; }
  [[nodiscard]] std::filesystem::path lock() const { return path_ / "lock"; }
  [[nodiscard]] std::filesystem::path log() const { return path_ / "server.log"; }

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] bool moves_when_it_goes_on(const std::filesystem::path& name) const;
  // Removes decisions, runtimes and logs from a folder, and returns how many bytes they took.
  [[nodiscard]] std::uintmax_t thin(const std::filesystem::path& folder) const;
  // One of the parts of the decisions.
  [[nodiscard]] bool is_decisions(const std::filesystem::path& name) const;
  [[nodiscard]] bool is_half_written(const std::filesystem::path& name) const;
  // All but the decisions.
  [[nodiscard]] std::vector<std::filesystem::path> files() const;
  void check_files() const;

  std::filesystem::path path_;
};

}  // namespace outpace::record
