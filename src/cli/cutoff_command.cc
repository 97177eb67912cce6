#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/cutoff_figure.h"
#include "cli/libtorch.h"
#include "cli/options.h"
#include "cli/trace_file.h"
#include "plot/cutoff_plot.h"
#include "record/runtime_model_file.h"
#include "runtime_model/imputing.h"
#include "runtime_model/model_list.h"
#include "runtime_model/trial.h"

namespace outpace::cli {
namespace {

using runtime_model::Cutoff;
using runtime_model::Decide;
using runtime_model::DeepWeights;
using runtime_model::Trace;
using runtime_model::TrialResult;

struct CutoffOptions {
  std::string runtimes;
  double fit_fraction = 0.5;
  std::vector<std::string> models{"auto", "switching", "ewma", "kalman", "last", "elfving"};
  std::vector<std::string> decide{"before", "deadline", "during"};
  std::string cut = "cancel";
  std::string model_file;
  std::string late = "correct";
  std::string imputation = "none";
  std::string decisions;
  std::string plot;
  std::optional<std::size_t> plot_from;
  bool json = false;
};

struct Row {
  std::string model;
  std::string decide;  // Empty for what needs no model.
  TrialResult result;
};

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

// Whether a model asks for what has to be fitted first, and there is no file with it.
bool is_to_fit(const CutoffOptions& options) {
  const auto names_fitted = [](const std::string& model) {
    const auto all = runtime_model::catalogue();
    return std::any_of(all.begin(), all.end(), [&](const runtime_model::Entry& entry) {
      return entry.name == model && entry.fitted;
    });
  };
  return options.model_file.empty() &&
         std::any_of(options.models.begin(), options.models.end(), names_fitted);
}

// Of the file, or fitted to the first part if a model asks for it and there is no file.
std::optional<DeepWeights> deep_weights(const Trace& trace,
                                        std::size_t fit_rows,
                                        const CutoffOptions& options) {
  if (!options.model_file.empty()) {
    return record::read_runtime_model(options.model_file);
  }
  if (!is_to_fit(options)) {
    return std::nullopt;
  }
  if (fit_rows == 0) {
    throw usage_error("--fit-fraction 0 leaves nothing to fit 'deep' to; name a --model-file");
  }
  return fit_to(first_rows(trace, fit_rows), options.runtimes);
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::unique_ptr<runtime_model::RuntimeModel> make_tried(const std::string& model,
                                                        const DeepWeights* deep,
                                                        const std::string& imputation) {
  using runtime_model::Imputation;
  const auto chosen = choose<std::optional<Imputation>>("imputation",
                                                        imputation,
                                                        {{"none", std::nullopt},
                                                         {"truncated", Imputation::kTruncated},
                                                         {"plain", Imputation::kPlain}});
  auto made = runtime_model::make_model(model, deep);
  if (chosen) {
    made = std::make_unique<runtime_model::Imputing>(std::move(made), *chosen);
  }
  return made;
}

struct Trials {
  std::vector<Row> rows;
  std::vector<plot::CutoffIteration> plotted;  // Of the first model's last rule, if asked for.
};

Trials try_all(const Trace& trace, std::size_t fit_rows, const CutoffOptions& options) {
  const std::optional<DeepWeights> fitted = deep_weights(trace, fit_rows, options);
  const DeepWeights* const deep = fitted ? &*fitted : nullptr;
  const auto cut = choose<runtime_model::Cut>(
      "cut",
      options.cut,
      {{"cancel", runtime_model::Cut::kCancel}, {"finish", runtime_model::Cut::kFinish}});
  const bool late_corrects =
      choose<bool>("late", options.late, {{"correct", true}, {"ignore", false}});
  if (!late_corrects && cut == runtime_model::Cut::kCancel) {
    throw usage_error("--late ignore with --cut cancel: nothing comes late; add --cut finish");
  }
  std::vector<std::pair<std::string, std::string>> trials;
  for (const std::string& model : options.models) {
    // A wrong name is found before the first trial.
    (void)make_tried(model, deep, options.imputation);
    for (const std::string& decide : options.decide) {
      (void)to_decide(decide);
      trials.emplace_back(model, decide);
    }
  }
  Trials found;
  std::vector<Row>& rows = found.rows;
  rows.push_back({"sync", "", try_fixed(trace, fit_rows, trace.workers())});
  rows.push_back(
      {"best_fixed", "", try_fixed(trace, fit_rows, runtime_model::best_fixed(trace, fit_rows))});
  for (const auto& [model, decide] : trials) {
    Cutoff cutoff(make_tried(model, deep, options.imputation), {.decide = to_decide(decide)});
    runtime_model::TrialOptions how{.fit_rows = fit_rows,
                                    .cut = cut,
                                    .late_corrects = late_corrects,
                                    .clock = steady_seconds,
                                    .watch = {}};
    if (!options.plot.empty() && model == options.models.front() &&
        decide == options.decide.back()) {
      found.plotted.clear();
      how.watch = [&found](const runtime_model::TrialView& view) {
        found.plotted.push_back(to_iteration(view));
      };
    }
    rows.push_back({model, decide, try_cutoff(trace, cutoff, how)});
  }
  rows.push_back({"oracle", "", try_oracle(trace, fit_rows)});
  return found;
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

void write_plot(const CutoffOptions& options, std::size_t fit_rows, Trials trials) {
  plot::CutoffFigure figure{
      .trace = std::filesystem::path(options.runtimes).filename().string(),
      .rule = options.models.front() + ", " + options.decide.back(),
      .first_row = fit_rows,
      .iterations = std::move(trials.plotted),
      .window = window_from(options.plot_from, fit_rows, trials.rows.back().result.rows.size())};
  for (std::size_t i = 0; i < figure.iterations.size(); ++i) {
    const runtime_model::TrialRow& row = trials.rows.back().result.rows[i];
    figure.iterations[i].oracle = {.seconds = row.seconds, .count = row.count};
  }
  std::ofstream out(options.plot);
  out << plot::cutoff_plot_of(figure);
  if (!out.flush()) {
    throw Error(ExitCode::kFailure, "--plot: cannot write " + options.plot);
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
                                   {"late", options.late},
                                   {"imputation", options.imputation},
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
  if (is_to_fit(options)) {
    require_libtorch("fitting a deep model");
  }
  const Trace trace = read_trace(options.runtimes);
  const auto fit_rows =
      static_cast<std::size_t>(options.fit_fraction * static_cast<double>(trace.rows()));
  // What is wrong is found before the first trial.
  if (options.plot_from && options.plot.empty()) {
    throw usage_error("--plot-from without --plot: nothing is drawn; add --plot FILE.svg");
  }
  (void)window_from(options.plot_from, fit_rows, trace.rows() - fit_rows);
  Trials trials = try_all(trace, fit_rows, options);
  const std::vector<Row>& rows = trials.rows;
  if (!options.decisions.empty()) {
    write_decisions(options.decisions, fit_rows, rows);
  }
  if (options.json) {
    print_json(options, trace, rows);
  } else {
    print_table(options, trace, rows);
  }
  if (!options.plot.empty()) {
    write_plot(options, fit_rows, std::move(trials));
  }
  return 0;
}

}  // namespace

Run add_cutoff(job::OptionList& list) {
  auto options = std::make_shared<CutoffOptions>();
  list.add_positional("runtimes",
                  options->runtimes,
                  "CSV of seconds: a column a worker, a row an iteration; a run's runtimes.csv")
      .required();
  list.add("fit-fraction",
                     options->fit_fraction,
                     "So much of it is seen whole first, and not judged; 0: learn in the run");
  list.add("models",
                  options->models,
                  "auto, switching, ewma, kalman, last, elfving, deep; with commas between them")
      .separated_by(',');
  list.add("model-file",
                     options->model_file,
                     "Weights of deep from outpace fit, which auto takes along; else they are "
                     "fitted to the first part if deep is asked for");
  list.add("decide",
                  options->decide,
                  "before: a count; deadline: a count or a deadline; during: asked again at every "
                  "arrival and tick")
      .separated_by(',');
  list.add("cut",
                     options->cut,
                     "cancel: who is cut off gives up; finish: it finishes first, and is late for "
                     "the next iteration");
  list.add("late",
                     options->late,
                     "correct: the model is shown a late time in the end; ignore: it never is "
                     "(with --cut finish)");
  list.add("imputation",
                     options->imputation,
                     "none: the model is told that who was cut off takes longer; truncated, plain: "
                     "it is shown a draw of its forecast in that place, longer than what was given "
                     "or any");
  list.add("decisions",
                     options->decisions,
                     "Write when each iteration ended to this CSV: row,model,decide,stop_seconds,"
                     "count");
  list.add("plot",
      options->plot,
      "Draw what the first of --models foretold and did, under the last of --decide, "
      "to this SVG");
  list.add("plot-from",
      options->plot_from,
      "The row of the trace that the plot's window of 100 iterations begins with; by "
      "default it ends with the last");
  list.add("json", options->json, "Print the results as one JSON object");
  return [options](const job::OptionList& /*chosen*/) {
    return cutoff(*options);
  };
}

}  // namespace outpace::cli
