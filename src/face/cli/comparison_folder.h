// The folder of a comparison: below it a record, a log and the run's own directory for each cell.
//
//   compare.toml                       the configuration of the last time
//   drifting/ssp-s-3/seed-1.json       written whole once the run has ended well; then it counts
//   drifting/ssp-s-3/seed-1.log        what the run said
//   drifting/ssp-s-3/seed-1/           what the run left behind

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "compare/run_list.h"
#include "compare/run_record.h"

namespace outpace::cli {

class ComparisonFolder {
 public:
  // Makes the folder, or takes one that a comparison has made, for this process alone. Throws a
  // usage error if something else is there, or another process compares there now.
  ComparisonFolder(std::filesystem::path path, const std::string& config);
  ~ComparisonFolder();
  ComparisonFolder(const ComparisonFolder&) = delete;
  ComparisonFolder& operator=(const ComparisonFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // The resolved configuration that the run is told.
  [[nodiscard]] std::filesystem::path resolved(const compare::Cell& cell) const;
  [[nodiscard]] std::filesystem::path log(const compare::Cell& cell) const;
  [[nodiscard]] std::filesystem::path run(const compare::Cell& cell) const;

  // Nothing if the cell is to be run: there is no whole record, or one of other options, or the
  // content of a file that the options name has changed.
  [[nodiscard]] std::optional<compare::KeptRun> kept(const compare::Cell& cell);
  // Removes what an earlier run of the cell left.
  // Removes what an earlier run left, and writes what the run is told.
  void make_room(const compare::Cell& cell, const std::string& resolved) const;
  // Keeps the result of the cell's run, which has ended well. Throws Error if it left none.
  compare::RunResult keep(const compare::Cell& cell, const std::string& commit);
  // A file of the comparison itself, written whole.
  void write(const std::string& name, const std::string& text) const;

 private:
  [[nodiscard]] std::filesystem::path record(const compare::Cell& cell) const;
  [[nodiscard]] compare::Identity identity(const compare::Cell& cell);
  // A digest of the file's content; 0 if there is none of that name.
  [[nodiscard]] std::uint64_t digest(const std::string& path);

  const std::filesystem::path path_;
  int lock_;
  std::map<std::string, std::uint64_t> digests_;  // Digests of files as first asked for.
};

}  // namespace outpace::cli
