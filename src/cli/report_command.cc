#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "dashboard/followed_run.h"
#include "job/whatif_job.h"
#include "record/recorded_run_reader.h"
#include "record/run_directory.h"
#include "report/run_report.h"
#include "run/whole_file.h"
#include "throughput/whatif_report.h"

namespace outpace::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string out = "report.html";
};

// The board of a record, and where and why decisions are missing; empty: none are.
struct Fed {
  std::unique_ptr<watch::Board> board;
  std::string gap;
};

Fed board_of(const std::string& directory) {
  dashboard::FollowedRun run(directory);
  auto board = std::make_unique<watch::Board>(run.about(), run.lanes());
  constexpr std::size_t kAtOnce = 100'000;
  while (run.feed(*board, Time::max(), kAtOnce)) {
  }
  if (const auto why = run.over()) {
    board->ended(*why);
  }
  return {.board = std::move(board), .gap = run.gap()};
}

// By which command the configuration was written: its first line says so.
std::string command_in(const std::string& config) {
  constexpr std::string_view kBegin = "# outpace ";
  const std::size_t end = config.find(':');
  return config.starts_with(kBegin) && end != std::string::npos
             ? config.substr(kBegin.size(), end - kBegin.size())
             : "";
}

report::ReportedRun report_on(const std::string& directory, const Fed& fed) {
  report::ReportedRun run{.board = fed.board.get(), .gap = fed.gap};
  const auto files = record::RunDirectory::open(directory);
  std::ifstream config(files.config(), std::ios::binary);
  run.config.assign(std::istreambuf_iterator<char>(config), {});
  run.command = command_in(run.config);
  try {
    job::WhatifJob questions;
    questions.run = directory;
    run.whatif = throughput::report_whatif(record::read_recorded_run(directory), questions);
  } catch (const Error& error) {  // The rest of the report is worth having all the same.
    run.why_no_whatif = error.what();
  }
  return run;
}

int write_report(const ReportOptions& options) {
  std::vector<Fed> boards;
  std::vector<report::ReportedRun> runs;
  for (const std::string& directory : options.runs) {
    boards.push_back(board_of(directory));
    runs.push_back(report_on(directory, boards.back()));
  }
  run::write_whole_file("out", options.out, report::html_of(runs));
  fmt::print("{}\n", options.out);
  std::fflush(stdout);
  return 0;
}

}  // namespace

Run add_report(job::OptionList& list) {
  auto options = std::make_shared<ReportOptions>();
  list.add("run", options->runs, "Directories of runs of train, run, server or simulate")
      .type("DIR")
      .positional()
      .required();
  list.add("out", options->out, "File to write: one HTML page that needs nothing else")
      .type("FILE")
      .letter('o');
  return [options](const job::OptionList& /*chosen*/) { return write_report(*options); };
}

}  // namespace outpace::cli
