#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/whatif_report.h"
#include "job/whatif_job.h"
#include "record/recorded_run_reader.h"
#include "run/whole_file.h"

namespace outpace::cli {
namespace {

int answer_whatif(const job::WhatifJob& job) {
  const WhatIfReport report = report_whatif(record::read_recorded_run(job.run), job);
  if (!job.plot.empty()) {
    run::write_whole_file("plot", job.plot, report_plot(report));
  }
  fmt::print("{}", job.json ? report_json(report) : report_text(report));
  std::fflush(stdout);
  return 0;
}

}  // namespace

Run add_whatif(job::OptionList& list) {
  auto job = std::make_shared<job::WhatifJob>();
  declare(list, *job);
  return [job](const job::OptionList& /*chosen*/) { return answer_whatif(*job); };
}

}  // namespace outpace::cli
