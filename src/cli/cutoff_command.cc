#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "runtime_model/catalogue.h"
#include "runtime_model/trial.h"
#include "worker/pace.h"

namespace outpace::cli {
namespace {

using runtime_model::Cutoff;
using runtime_model::Decide;
using runtime_model::Trace;
using runtime_model::TrialResult;

struct CutoffOptions {
  std::string runtimes;
  double fit_fraction = 0.5;
  std::vector<std::string> models{"auto", "switching", "ewma", "kalman", "last", "elfving"};
  std::vector<std::string> decide{"before", "deadline", "during"};
  std::string cut = "cancel";
  std::string decisions;
  bool json = false;
};

struct Row {
  std::string model;
  std::string decide;  // Empty for what needs no model.
  TrialResult result;
};

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

template <typename Choice>
Choice choose(const std::string& option,
              const std::string& word,
              const std::vector<std::pair<std::string, Choice>>& choices) {
  std::vector<std::string> words;
  for (const auto& [name, choice] : choices) {
    if (name == word) {
      return choice;
    }
    words.push_back(name);
  }
  throw usage_error("--" + option + " is '" + word + "'" + suggestion(word, words));
}

Decide to_decide(const std::string& word) {
  return choose<Decide>(
      "decide",
      word,
      {{"before", Decide::kBefore}, {"deadline", Decide::kDeadline}, {"during", Decide::kDuring}});
}

std::vector<Row> try_all(const Trace& trace, std::size_t fit_rows, const CutoffOptions& options) {
  const auto cut = choose<runtime_model::Cut>(
      "cut",
      options.cut,
      {{"cancel", runtime_model::Cut::kCancel}, {"finish", runtime_model::Cut::kFinish}});
  std::vector<std::pair<std::string, std::string>> trials;
  for (const std::string& model : options.models) {
    (void)runtime_model::make_model(model);  // A wrong name is found before the first trial.
    for (const std::string& decide : options.decide) {
      (void)to_decide(decide);
      trials.emplace_back(model, decide);
    }
  }
  std::vector<Row> rows;
  rows.push_back({"sync", "", try_fixed(trace, fit_rows, trace.workers())});
  rows.push_back(
      {"best_fixed", "", try_fixed(trace, fit_rows, runtime_model::best_fixed(trace, fit_rows))});
  for (const auto& [model, decide] : trials) {
    Cutoff cutoff(runtime_model::make_model(model), {.decide = to_decide(decide)});
    rows.push_back(
        {model, decide, try_cutoff(trace, cutoff, {.fit_rows = fit_rows, .cut = cut, .clock = [] {
                                                     return std::chrono::duration<double>(
                                                                std::chrono::steady_clock::now()
                                                                    .time_since_epoch())
                                                         .count();
                                                   }})});
  }
  rows.push_back({"oracle", "", try_oracle(trace, fit_rows)});
  return rows;
}

void write_decisions(const std::string& path, std::size_t fit_rows, const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << "row,model,decide,stop_seconds,count\n";
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.result.rows.size(); ++i) {
      out << fmt::format("{},{},{},{:.9g},{}\n",
                         fit_rows + i,
                         row.model,
                         row.decide,
                         row.result.rows[i].seconds,
                         row.result.rows[i].count);
    }
  }
  if (!out.flush()) {
    throw Error(ExitCode::kFailure, "--decisions: cannot write " + path);
  }
}

void print_json(const CutoffOptions& options, const Trace& trace, const std::vector<Row>& rows) {
  const double sync = rows.front().result.omega;
  const double oracle = rows.back().result.omega;
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const TrialResult& found = row.result;
    nlohmann::ordered_json one{{"model", row.model}};
    one["decide"] = nullptr;
    if (!row.decide.empty()) {
      one["decide"] = row.decide;
    }
    one["omega"] = found.omega;
    one["relative_to_sync"] = found.omega / sync;
    one["relative_to_oracle"] = found.omega / oracle;
    if (!row.decide.empty()) {
      one["coverage50"] = found.coverage50;  // Not a number is null.
      one["coverage90"] = found.coverage90;
      one["crps"] = found.crps;
      one["decision_ms_p50"] = 1e3 * found.decision_p50;
      one["decision_ms_p99"] = 1e3 * found.decision_p99;
      one["decision_ms_per_iteration"] = 1e3 * found.decisions_per_iteration;
      if (!found.believed.empty()) {
        one["believed"] = found.believed;
      }
    }
    results.push_back(std::move(one));
  }
  const nlohmann::ordered_json all{{"trace", options.runtimes},
                                   {"workers", trace.workers()},
                                   {"rows", trace.rows()},
                                   {"cut", options.cut},
                                   {"results", std::move(results)}};
  std::puts(all.dump().c_str());
}

void print_table(const CutoffOptions& options, const Trace& trace, const std::vector<Row>& rows) {
  const double sync = rows.front().result.omega;
  const double oracle = rows.back().result.omega;
  fmt::print("{}: {} workers, {} iterations, of which the last {} are judged; cut: {}\n\n",
             options.runtimes,
             trace.workers(),
             trace.rows(),
             rows.front().result.rows.size(),
             options.cut);
  fmt::print("{:<11}{:<10}{:>12}{:>9}{:>10}{:>10}{:>10}{:>11}{:>13}\n",
             "model",
             "decide",
             "gradients/s",
             "/ sync",
             "/ oracle",
             "in 50 %",
             "in 90 %",
             "crps ms",
             "decision ms");
  for (const Row& row : rows) {
    const TrialResult& found = row.result;
    fmt::print("{:<11}{:<10}{:>12.1f}{:>9.3f}{:>10.3f}",
               row.model,
               row.decide.empty() ? "-" : row.decide,
               found.omega,
               found.omega / sync,
               found.omega / oracle);
    if (!row.decide.empty()) {
      fmt::print("{:>9.1f}%{:>9.1f}%{:>11.3f}{:>13.3f}",
                 100.0 * found.coverage50,
                 100.0 * found.coverage90,
                 1e3 * found.crps,
                 1e3 * found.decisions_per_iteration);
      if (!found.believed.empty()) {
        fmt::print("  believed {}", found.believed);
      }
    }
    fmt::print("\n");
  }
  fmt::print(
      "\nsync waits for all; best_fixed is the best count in hindsight, oracle the best of each "
      "iteration.\nIn 50 %, 90 %: how often arrivals came within those intervals of the forecast. "
      "Decisions are those\nof a whole iteration, and their time is part of it.\n");
}

int cutoff(const CutoffOptions& options) {
  if (!(options.fit_fraction >= 0.0 && options.fit_fraction < 1.0)) {
    throw usage_error("--fit-fraction takes a number from 0 to less than 1");
  }
  const Trace trace = read_trace(options.runtimes);
  const auto fit_rows =
      static_cast<std::size_t>(options.fit_fraction * static_cast<double>(trace.rows()));
  const std::vector<Row> rows = try_all(trace, fit_rows, options);
  if (!options.decisions.empty()) {
    write_decisions(options.decisions, fit_rows, rows);
  }
  if (options.json) {
    print_json(options, trace, rows);
  } else {
    print_table(options, trace, rows);
  }
  return 0;
}

}  // namespace

Run add_cutoff(CLI::App& command) {
  auto options = std::make_shared<CutoffOptions>();
  command
      .add_option("runtimes",
                  options->runtimes,
                  "CSV of seconds: a column a worker, a row an iteration; a run's runtimes.csv")
      ->required();
  command.add_option("--fit-fraction",
                     options->fit_fraction,
                     "So much of it is seen whole first, and not judged; 0: learn in the run");
  command
      .add_option("--models",
                  options->models,
                  "auto, switching, ewma, kalman, last, elfving; with commas between them")
      ->delimiter(',');
  command
      .add_option("--decide",
                  options->decide,
                  "before: a count; deadline: a count or a deadline; during: asked again at every "
                  "arrival and tick")
      ->delimiter(',');
  command.add_option("--cut",
                     options->cut,
                     "cancel: who is cut off gives up; finish: it finishes first, and is late for "
                     "the next iteration");
  command.add_option("--decisions",
                     options->decisions,
                     "Write when each iteration ended to this CSV: row,model,decide,stop_seconds,"
                     "count");
  command.add_flag("--json", options->json, "Print the results as one JSON object");
  return [options](const CLI::App& /*chosen*/, const Origins& /*origins*/) {
    return cutoff(*options);
  };
}

}  // namespace outpace::cli
