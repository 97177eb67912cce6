// What a person sees while a comparison runs: a line for each cell that ended, and what remains.

#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "compare/row_summary.h"
#include "run/side_writer.h"

namespace outpace::cli {

// Writes to standard error, and waits for nobody who reads it. On a terminal, a last line names the
// running cells; it is erased before the next output.
class ComparisonProgress {
 public:
  // The comparison has `runs` runs; `jobs` of them run at a time.
  ComparisonProgress(std::size_t runs, std::uint32_t jobs);
  ~ComparisonProgress();
  ComparisonProgress(const ComparisonProgress&) = delete;
  ComparisonProgress& operator=(const ComparisonProgress&) = delete;

  void begun(const std::string& cell);
  void ended(const std::string& cell, const compare::Outcome& outcome, double seconds);

 private:
  void put(std::string text);
  void show_running();
  void erase();

  const std::size_t runs_;
  const std::uint32_t jobs_;
  const bool is_terminal_;
  std::size_t done_ = 0;
  double seconds_ = 0.0;  // The sum over the runs that are done.
  std::set<std::string> running_;
  run::SideWriter out_;
};

}  // namespace outpace::cli
