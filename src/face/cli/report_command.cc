#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/whatif_report.h"
#include "dashboard/recorded_page.h"
#include "job/whatif_job.h"
#include "record/recorded_run_reader.h"
#include "record/run_directory.h"
#include "run/followed_run.h"
#include "run/whole_file.h"
#include "watch/board_json.h"

namespace outpace::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string out = "report.html";
};

// What the page shows of a run.
struct Shown {
  std::string frame;  // JSON (watch/board_json.h).
  std::vector<std::string> notes;
};

// Read from the record's decisions: the run goes on, its server was killed, or it recorded no page.
Shown shown_of_decisions(const std::string& directory) {
  run::FollowedRun run(directory);
  watch::Board board(run.about(), run.lanes());
  constexpr std::size_t kAtOnce = 100'000;
  while (run.feed(board, Time::max(), kAtOnce)) {
  }
  const auto why = run.over();
  if (why) {
    board.ended(*why);
  }
  Shown shown{.frame = watch::whole_frame(board), .notes = {}};
  if (!run.gap().empty()) {
    shown.notes.push_back("what is below ends at " + run.gap());
  }
  shown.notes.push_back(
      (why ? "This record has no page.jsonl, as older versions of outpace wrote none"
           : "The run goes on, or its server was killed") +
      std::string(": this page is made from its decisions. It lacks forecasts, hosts and the "
                  "server's memory and processor time."));
  return shown;
}

Shown shown_of(const std::string& directory) {
  auto page = dashboard::read_page_record(record::RunDirectory::open(directory).page());
  return page ? Shown{.frame = std::move(page->frame), .notes = {}} : shown_of_decisions(directory);
}

// By which command the configuration was written: its first line says so.
std::string command_in(const std::string& config) {
  constexpr std::string_view kBegin = "# outpace ";
  const std::size_t end = config.find(':');
  return config.starts_with(kBegin) && end != std::string::npos
             ? config.substr(kBegin.size(), end - kBegin.size())
             : "";
}

// With these options the same would be done again. --out names a directory that is not empty now,
// and --resume would go on with the run.
std::string repeatable(const std::string& config) {
  std::istringstream lines(config);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("out = ") && !line.starts_with("resume = ")) {
      kept += line + "\n";
    }
  }
  return kept;
}

// What `outpace whatif` says of a small sample: the report is there at once. Null if it says
// nothing, for a reason that goes to the notes.
std::string whatif_of(const std::string& directory, std::vector<std::string>& notes) {
  constexpr std::uint64_t kGradients = 1000;
  constexpr std::size_t kWorkersMost = 200;
  try {
    policy::FoundRun found = record::read_recorded_run(directory, kGradients);
    if (found.run.workers.size() > kWorkersMost) {
      notes.push_back(fmt::format(
          "outpace whatif {} says what other workers or another policy would have brought; with "
          "more than {} workers that takes a while",
          directory,
          kWorkersMost));
      return "null";
    }
    job::WhatifJob questions;
    questions.run = directory;
    questions.resamplings = 0;
    return report_json(report_whatif(std::move(found), questions));
  } catch (const Error& error) {  // The rest of the report is worth having all the same.
    notes.emplace_back(error.what());
    return "null";
  }
}

std::string text_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// As report.js reads it.
std::string run_json(const std::string& directory) {
  const auto files = record::RunDirectory::open(directory);
  Shown shown = shown_of(directory);
  std::ifstream file(files.config(), std::ios::binary);
  const std::string config{std::istreambuf_iterator<char>(file), {}};
  std::string whatif = "null";
  if (std::filesystem::exists(files.decisions())) {  // A ring or a gossip has none.
    whatif = whatif_of(directory, shown.notes);
  }
  return fmt::format(R"({{"frame":{},"config":{},"command":{},"whatif":{},"notes":{}}})",
                     shown.frame,
                     text_json(repeatable(config)),
                     text_json(command_in(config)),
                     whatif,
                     text_json(shown.notes));
}

int write_report(const ReportOptions& options) {
  std::string runs;
  for (const std::string& directory : options.runs) {
    runs += (runs.empty() ? "[" : ",") + run_json(directory);
  }
  run::write_whole_file("out", options.out, dashboard::page_with(runs + "]"));
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
