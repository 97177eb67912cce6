#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/comparison_folder.h"
#include "cli/comparison_progress.h"
#include "cli/libtorch.h"
#include "commit.h"
#include "compare/comparison_table.h"
#include "compare/config.h"
#include "compare/csv.h"
#include "compare/plot.h"
#include "compare/row_summary.h"
#include "compare/run_list.h"
#include "compare/summary_json.h"
#include "job/live_job.h"
#include "job/simulate_job.h"
#include "live/supervisor.h"
#include "run/child_runs.h"
#include "run/server_run.h"
#include "run/side_writer.h"
#include "run/simulated_run.h"
#include "run/whole_file.h"

namespace outpace::cli {
namespace {

struct CompareOptions {
  std::string config;
  std::string out;
  std::uint32_t jobs = 1;
  bool fresh = false;
  bool json = false;
};

template <typename Job>
std::vector<std::string> names_of() {
  job::OptionList list;
  Job job;
  declare(list, job);
  return list.names();
}

compare::Config read_config(const CompareOptions& options, const std::string& text) {
  compare::Config config = compare::parse_config(
      text,
      options.config,
      {.live = names_of<job::TrainJob>(), .simulated = names_of<job::SimulateJob>()});
  if (config.mode == compare::Mode::kLive && options.jobs > 1) {
    throw usage_error(
        "--jobs conflicts with mode \"live\": live runs would compete for processors; remove it");
  }
  return config;
}

void check_job(const job::OptionList& list, job::TrainJob& job) {
  job.launcher = "none";  // A run of its own, also if a launcher started this process.
  job::fit_topology(list, job);
  run::check(job, learner());
}

void check_job(const job::OptionList& /*list*/, const job::SimulateJob& job) {
  job::check(job);
  run::check(job, learner());
}

// A cell's job, checked: its resolved configuration, with its record in `out`.
template <typename Job>
std::string resolve_cell(const compare::Cell& cell, const std::string& out) {
  job::OptionList list;
  Job job;
  declare(list, job);
  job::set_layers(list, {cell.options});
  check_job(list, job);
  job.output.out = out;
  return job::resolved_toml(cell.command, list);
}

std::string resolve_cell(const compare::Config& config,
                         const compare::Cell& cell,
                         const std::string& out) {
  return config.mode == compare::Mode::kLive ? resolve_cell<job::TrainJob>(cell, out)
                                             : resolve_cell<job::SimulateJob>(cell, out);
}

// A seed changes nothing about what is allowed: each row and trace is looked at once.
void check(const compare::Config& config, const std::vector<compare::Cell>& cells) {
  for (std::size_t i = 0; i < config.rows.size() * config.traces.size(); ++i) {
    try {
      (void)resolve_cell(config, cells[i], "");
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("{}:{}: {}",
                              config.path,
                              compare::line_of(config, cells[i], error.what()),
                              error.what()));
    }
  }
}

std::string reason_of(const run::ChildRunEnd& end) {
  constexpr std::string_view kPrefix = "outpace: ";
  if (end.code > 128 && !end.last_line.starts_with(kPrefix)) {
    return fmt::format("ended by signal {}", end.code - 128);
  }
  if (end.last_line.empty()) {
    return fmt::format("exited with {}", end.code);
  }
  return end.last_line.starts_with(kPrefix) ? end.last_line.substr(kPrefix.size()) : end.last_line;
}

class Comparison {
 public:
  Comparison(compare::Config config, std::vector<compare::Cell> cells, ComparisonFolder& folder)
      : config_(std::move(config)),
        cells_(std::move(cells)),
        folder_(folder),
        outcomes_(cells_.size()) {}

  // Takes what was kept, unless all is to be run anew; the others are to be run.
  void look_up(bool fresh) {
    std::size_t other_build = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (const auto kept = fresh ? std::nullopt : folder_.kept(cells_[i])) {
        outcomes_[i].result = kept->result;
        other_build += kept->commit == kCommit ? 0U : 1U;
      } else {
        to_run_.push_back(i);
      }
    }
    std::string said = fmt::format("{} cells in {}: {} kept from before, {} to run\n",
                                   cells_.size(),
                                   folder_.path().string(),
                                   cells_.size() - to_run_.size(),
                                   to_run_.size());
    if (other_build > 0) {
      said += fmt::format(
          "{} of those kept were run by another build of outpace; --fresh runs all again\n",
          other_build);
    }
    (void)run::print(STDERR_FILENO, said);
  }

  // 0, or the signal that interrupted it.
  int run(std::uint32_t jobs) {
    std::vector<run::ChildRun> runs;
    for (const std::size_t i : to_run_) {
      runs.push_back(
          {.words = {cells_[i].command, "--resolved=" + folder_.resolved(cells_[i]).string()},
           .log = folder_.log(cells_[i]).string()});
    }
    ComparisonProgress progress(runs.size(), jobs);
    return run::run_children(
        runs,
        jobs,
        {.begun =
             [&](std::size_t run) {
               const compare::Cell& cell = cells_[to_run_[run]];
               folder_.make_room(cell, resolve_cell(config_, cell, folder_.run(cell).string()));
               progress.begun(compare::name_of(config_, cell));
             },
         .ended =
             [&](const run::ChildRunEnd& end) {
               const std::size_t i = to_run_[end.run];
               outcomes_[i] = outcome_of(cells_[i], end);
               progress.ended(compare::name_of(config_, cells_[i]), outcomes_[i], end.seconds);
             }});
  }

  // Files, and the tables or one JSON object on standard output.
  void report(bool json) const {
    const auto summaries = compare::summaries_of(config_, cells_, outcomes_);
    folder_.write("compare.csv", compare::runs_csv(config_, cells_, outcomes_));
    folder_.write("summary.csv", compare::summary_csv(config_, summaries));
    folder_.write("compare.svg", compare::plot_of(config_, cells_, outcomes_));
    (void)run::print(json ? STDERR_FILENO : STDOUT_FILENO,
                     fmt::format("\n{}{}{}: compare.csv, summary.csv, compare.svg\n",
                                 compare::tables_of(config_, summaries),
                                 compare::failures_of(config_, cells_, outcomes_),
                                 folder_.path().string()));
    if (json && !run::print(STDOUT_FILENO,
                            compare::summary_json(config_, cells_, outcomes_).dump() + "\n")) {
      throw Error(ExitCode::kFailure,
                  "nobody read the result on standard output; it is in " +
                      (folder_.path() / "summary.csv").string());
    }
  }

  [[nodiscard]] std::size_t failed() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        outcomes_, [](const compare::Outcome& outcome) { return !outcome.result; }));
  }
  [[nodiscard]] std::size_t cells() const { return cells_.size(); }

 private:
  compare::Outcome outcome_of(const compare::Cell& cell, const run::ChildRunEnd& end) {
    if (end.code != 0) {
      return {.result = {}, .failure = reason_of(end)};
    }
    try {
      return {.result = folder_.keep(cell, kCommit), .failure = ""};
    } catch (const Error& error) {
      return {.result = {}, .failure = error.what()};
    }
  }

  const compare::Config config_;
  const std::vector<compare::Cell> cells_;
  ComparisonFolder& folder_;
  std::vector<compare::Outcome> outcomes_;  // One a cell.
  std::vector<std::size_t> to_run_;         // Indices of cells.
};

int run_compare(const CompareOptions& options) {
  const std::string text = run::whole_file("file", options.config);
  compare::Config config = read_config(options, text);
  std::vector<compare::Cell> cells = compare::cells_of(config);
  check(config, cells);
  live::block_supervised_signals();
  const std::string out =
      options.out.empty() ? "runs/compare-" + std::filesystem::path(options.config).stem().string()
                          : options.out;
  ComparisonFolder folder(out, text);
  Comparison comparison(std::move(config), std::move(cells), folder);
  comparison.look_up(options.fresh);
  if (const int signal = comparison.run(options.jobs); signal != 0) {
    throw Error(ExitCode{128 + signal},
                fmt::format("interrupted; {} of {} cells are kept, and the same command goes on",
                            comparison.cells() - comparison.failed(),
                            comparison.cells()));
  }
  comparison.report(options.json);
  if (comparison.failed() > 0) {
    throw Error(ExitCode::kFailure,
                fmt::format("{} of {} cells failed; the same command runs them again",
                            comparison.failed(),
                            comparison.cells()));
  }
  return 0;
}

}  // namespace

Run add_compare(job::OptionList& list) {
  auto options = std::make_shared<CompareOptions>();
  list.add("file", options->config, "TOML file that says what to compare; docs/compare.md")
      .positional()
      .type("FILE")
      .required();
  list.add("out", options->out, "Directory of the comparison, where it goes on if it was stopped")
      .type("DIR")
      .default_words("runs/compare-NAME, from NAME.toml");
  list.add("jobs", options->jobs, "Number of simulated runs at a time").between(1, 256);
  list.add("fresh", options->fresh, "Run all cells, also those that are done");
  list.add("json", options->json, "Print the result as one JSON object on standard output");
  return [options](const job::OptionList& /*chosen*/) { return run_compare(*options); };
}

}  // namespace outpace::cli
