#include "cli/trace_file.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "worker/pace.h"

namespace outpace::cli {

using runtime_model::Trace;

Trace read_trace(const std::string& path) {
  const std::string text = read_file("runtimes", path);
  std::size_t workers = 1;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view row = trim(line);
    if (!row.empty() && row.front() != '#') {
      workers = split(row, ',').size();
      break;
    }
  }
  const worker::DelayTrace parsed = worker::DelayTrace::parse(text, path, workers);
  if (parsed.rows() < 2) {
    throw usage_error(path + " has one row; a trial needs at least two iterations");
  }
  std::vector<double> seconds(parsed.rows() * workers);
  for (std::uint32_t w = 0; w < workers; ++w) {
    const std::vector<double> column = parsed.column(WorkerId{w});
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (column[i] <= 0.0) {
        throw usage_error(fmt::format(
            "{}: row {}, column {} is 0; a runtime takes more than 0 seconds", path, i + 1, w + 1));
      }
      seconds[i * workers + w] = column[i];
    }
  }
  return {std::move(seconds), static_cast<std::uint32_t>(workers)};
}

Trace first_rows(const Trace& trace, std::size_t rows) {
  CHECK(rows >= 1 && rows <= trace.rows());
  std::vector<double> seconds;
  seconds.reserve(rows * trace.workers());
  for (std::size_t i = 0; i < rows; ++i) {
    seconds.insert(seconds.end(), trace.row(i).begin(), trace.row(i).end());
  }
  return {std::move(seconds), trace.workers()};
}

}  // namespace outpace::cli
