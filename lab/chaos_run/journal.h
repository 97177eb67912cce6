// What chaos itself writes down, and what it reads, as they grow, from the histories of the
// processes that it started: how far the run has come, and who takes part.

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "chaos/history.h"

namespace outpace::chaos_run {

// Now, as records have it.
[[nodiscard]] std::int64_t now_of_records();

class Journal {
 public:
  // Makes the folder history/ in `folder`. Throws Error if it cannot.
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void write(const std::string& who,
             std::int64_t process,
             const std::string& what,
             nlohmann::json more);

  // The file for a process that is about to start; it is read from now on.
  [[nodiscard]] std::string file_for(const std::string& who, std::uint32_t start);
  // Takes in what the processes have written since.
  void read();

  // The gradients of this worker that were accepted.
  [[nodiscard]] std::uint64_t accepted(const std::string& who) const;
  [[nodiscard]] std::uint64_t accepted() const;  // The gradients of all workers.
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }        // The newest release's.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }  // As above.
  // More than the number of any epoch that an example was handed out of.
  [[nodiscard]] std::uint64_t epochs() const { return epochs_; }

  // Writes every file into one, history.jsonl in the folder.
  void merge_all() const;

 private:
  struct Source {
    std::filesystem::path path;
    std::uint64_t read = 0;
  };
  void take(const chaos::Record& record);

  std::filesystem::path folder_;
  int file_;
  std::vector<Source> sources_;
  std::map<std::string, std::uint64_t> accepted_;
  std::uint64_t evaluations_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t epochs_ = 0;
};

// The records of a file that merge_all() wrote. Throws Error if it cannot be read.
[[nodiscard]] std::vector<chaos::Record> read_history(const std::filesystem::path& path);

}  // namespace outpace::chaos_run
