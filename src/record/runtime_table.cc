#include "record/runtime_table.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "record/output_file.h"

namespace outpace::record {
namespace {

// "worker 3" or "workers 0-2,5".
std::string names(const std::vector<std::size_t>& workers) {
  std::string text = workers.size() == 1 ? "worker " : "workers ";
  for (std::size_t i = 0; i < workers.size();) {
    std::size_t last = i;
    while (last + 1 < workers.size() && workers[last + 1] == workers[last] + 1) {
      ++last;
    }
    text += (i == 0 ? "" : ",") + std::to_string(workers[i]);
    if (last > i) {
      text += "-" + std::to_string(workers[last]);
    }
    i = last + 1;
  }
  return text;
}

}  // namespace

void write_runtimes(const std::filesystem::path& path,
                    std::span<const server::WorkerStatistics> workers) {
  std::vector<std::size_t> columns;
  std::vector<std::size_t> absent;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    (workers[worker].runtimes.empty() ? absent : columns).push_back(worker);
  }
  OutputFile file(path);
  const auto out = std::back_inserter(file.buffer());
  fmt::format_to(out,
                 "# one row an iteration, one column a worker, seconds from weights to gradient");
  file.end_line();
  if (!absent.empty()) {
    fmt::format_to(out,
                   "# {} measured nothing and {} no column; the columns are {}",
                   names(absent),
                   absent.size() == 1 ? "has" : "have",
                   columns.empty() ? "none" : names(columns));
    file.end_line();
  }
  if (!columns.empty()) {
    const std::size_t fewest = *std::ranges::min_element(
        columns, {}, [&](std::size_t worker) { return workers[worker].runtimes.size(); });
    const std::size_t rows = workers[fewest].runtimes.size();
    fmt::format_to(out,
                   "# {} {}, as many as worker {} measured, which has the fewest",
                   rows,
                   rows == 1 ? "row" : "rows",
                   fewest);
    file.end_line();
    for (std::size_t row = 0; row < rows; ++row) {
      for (const std::size_t worker : columns) {
        fmt::format_to(
            out, "{}{:.6f}", worker == columns.front() ? "" : ",", workers[worker].runtimes[row]);
      }
      file.end_line();
    }
  }
  file.close();
}

}  // namespace outpace::record
