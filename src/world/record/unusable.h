// The examples that a run has left out, because nobody could compute them: RUN/unusable.csv.
//
// A line for each example and epoch in which it was left out. Its mini-batch is left out whole, so
// that the example at fault is the one that is there in every epoch.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "record/output_file.h"

namespace outpace::record {

class UnusableExamples {
 public:
  // `say` is told which examples were not named before, and what cannot be written.
  UnusableExamples(std::filesystem::path path, GapTold say, WriteQueue* queue)
      : path_(std::move(path)), say_(std::move(say)), queue_(queue) {}

  // Writes them, and makes the file with the first.
  void add(std::vector<std::uint64_t> examples, const std::string& why);

 private:
  void write(const std::vector<std::uint64_t>& examples, const std::string& why);

  std::filesystem::path path_;
  GapTold say_;
  WriteQueue* queue_;  // Null: the caller writes.
  std::optional<OutputFile> file_;
  std::set<std::uint64_t> named_;
};

}  // namespace outpace::record
