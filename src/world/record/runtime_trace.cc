#include "record/runtime_trace.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "worker/pace.h"

namespace outpace::record {

using runtime_model::Trace;

Trace parse_runtimes(std::string_view text, const std::string& name) {
  std::size_t workers = 1;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view row = trim(line);
    if (!row.empty() && row.front() != '#') {
      workers = split(row, ',').size();
      break;
    }
  }
  const worker::DelayTrace parsed = worker::DelayTrace::parse(text, name, workers);
  if (parsed.rows() < 2) {
    throw usage_error(name + ": has one row; it takes at least two iterations");
  }
  std::vector<double> seconds(parsed.rows() * workers);
  for (std::uint32_t w = 0; w < workers; ++w) {
    const std::vector<double> column = parsed.column(WorkerId{w});
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (column[i] <= 0.0) {
        throw usage_error(fmt::format(
            "{}: row {}, column {} is 0; it takes a runtime above 0 seconds", name, i + 1, w + 1));
      }
      seconds[i * workers + w] = column[i];
    }
  }
  return {std::move(seconds), static_cast<std::uint32_t>(workers)};
}

}  // namespace outpace::record
