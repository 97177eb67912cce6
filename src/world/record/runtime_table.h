// runtimes.csv: how long each worker took for each of its iterations, in seconds.
//
// Row k holds the k-th runtime of every worker, so the file of one run is a trace: a runtime model
// can be fitted to it, and another run can be slowed down with it (--delays). The table is full. It
// ends with the worker that measured the fewest, and a worker that had measured nothing when the
// first row was complete has no column: a made-up one would pass for a measurement. Comment lines
// say which workers are left out.
//
// Rows are written while the run goes on, so that a server that is killed keeps them.

#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "record/output_file.h"
#include "server/statistics.h"

namespace outpace::record {

class RuntimeTable {
 public:
  // All functions throw Error if the file system refuses. With `told`, the file may have gaps
  // once it exists; with `queue`, that writes it (output_file.h).
  explicit RuntimeTable(const std::filesystem::path& path,
                        GapTold told = nullptr,
                        WriteQueue* queue = nullptr);

  // Writes the rows that are complete by now. The first row waits for all live workers.
  void append(std::span<const server::WorkerStatistics> workers);
  // Writes the rest, and which worker ends the table. Nothing may be appended after it.
  void close(std::span<const server::WorkerStatistics> workers);

 private:
  void choose_columns(std::span<const server::WorkerStatistics> workers);
  void append_rows(std::span<const server::WorkerStatistics> workers);
  // The worker that measured the fewest runtimes, of those that have a column.
  [[nodiscard]] std::size_t slowest(std::span<const server::WorkerStatistics> workers) const;

  OutputFile file_;
  std::vector<std::size_t> columns_;  // Workers; empty before the first row.
  std::size_t rows_ = 0;
};

// The whole table of a run that is over.
void write_runtimes(const std::filesystem::path& path,
                    std::span<const server::WorkerStatistics> workers);

}  // namespace outpace::record
