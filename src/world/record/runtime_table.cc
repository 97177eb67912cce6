#include "record/runtime_table.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

bool has_measured(const server::WorkerStatistics& worker) {
  return !worker.runtimes.empty();
}

}  // namespace

RuntimeTable::RuntimeTable(const std::filesystem::path& path, GapTold told, WriteQueue* queue)
    : file_(path,
            {.told = std::move(told),
             .mark = "# a gap: rows that could not be written are missing",
             .queue = queue}) {
  fmt::format_to(std::back_inserter(file_.buffer()),
                 "# one row an iteration, one column a worker, seconds from weights to gradient");
  file_.end_line();
}

void RuntimeTable::append(std::span<const server::WorkerStatistics> workers) {
  if (columns_.empty() && std::ranges::all_of(workers, [](const server::WorkerStatistics& worker) {
        return has_measured(worker) || !worker.live;
      })) {
    choose_columns(workers);
  }
  append_rows(workers);
  file_.flush();
}

void RuntimeTable::close(std::span<const server::WorkerStatistics> workers) {
  if (columns_.empty()) {
    choose_columns(workers);
  }
  append_rows(workers);
  const auto out = std::back_inserter(file_.buffer());
  if (!columns_.empty()) {
    fmt::format_to(out,
                   "# {} {}, as many as worker {} measured, which has the fewest",
                   rows_,
                   rows_ == 1 ? "row" : "rows",
                   slowest(workers));
    file_.end_line();
  }
  std::vector<std::size_t> late;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    if (has_measured(workers[worker]) && !std::ranges::binary_search(columns_, worker)) {
      late.push_back(worker);
    }
  }
  if (!late.empty()) {
    fmt::format_to(out,
                   "# {} measured nothing before the first row and {} no column",
                   names(late),
                   late.size() == 1 ? "has" : "have");
    file_.end_line();
  }
  file_.close();
}

void RuntimeTable::choose_columns(std::span<const server::WorkerStatistics> workers) {
  std::vector<std::size_t> absent;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    (has_measured(workers[worker]) ? columns_ : absent).push_back(worker);
  }
  if (!absent.empty()) {
    fmt::format_to(std::back_inserter(file_.buffer()),
                   "# {} measured nothing and {} no column; the columns are {}",
                   names(absent),
                   absent.size() == 1 ? "has" : "have",
                   columns_.empty() ? "none" : names(columns_));
    file_.end_line();
  }
}

void RuntimeTable::append_rows(std::span<const server::WorkerStatistics> workers) {
  if (columns_.empty()) {
    return;
  }
  const auto out = std::back_inserter(file_.buffer());
  for (const std::size_t rows = workers[slowest(workers)].runtimes.size(); rows_ < rows; ++rows_) {
    for (const std::size_t worker : columns_) {
      fmt::format_to(
          out, "{}{:.6f}", worker == columns_.front() ? "" : ",", workers[worker].runtimes[rows_]);
    }
    file_.end_line();
  }
}

std::size_t RuntimeTable::slowest(std::span<const server::WorkerStatistics> workers) const {
  return *std::ranges::min_element(
      columns_, {}, [&](std::size_t worker) { return workers[worker].runtimes.size(); });
}

void write_runtimes(const std::filesystem::path& path,
                    std::span<const server::WorkerStatistics> workers) {
  RuntimeTable(path).close(workers);
}

}  // namespace outpace::record
