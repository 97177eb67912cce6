#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/libtorch.h"
#include "job/cutoff_job.h"
#include "plot/cutoff_figure.h"
#include "plot/cutoff_plot.h"
#include "record/runtime_model_file.h"
#include "record/runtime_trace.h"
#include "run/whole_file.h"
#include "runtime_model/rule_trials.h"

namespace outpace::cli {
namespace {

using runtime_model::DeepWeights;
using runtime_model::Trace;
using runtime_model::TrialResult;
using runtime_model::TriedRule;
using Tried = std::vector<TriedRule>;

// Of the file, or fitted to the first rows if a model needs it and there is no file.
std::optional<DeepWeights> deep_weights(const Trace& trace,
                                        std::size_t fit_rows,
                                        const job::CutoffJob& job) {
  if (!job.model_file.empty()) {
    return record::read_runtime_model(job.model_file);
  }
  if (!is_to_fit(job)) {
    return std::nullopt;
  }
  if (fit_rows == 0) {
    throw usage_error("--fit-fraction 0 leaves nothing to fit 'deep' to; add --model-file");
  }
  return fit_to(trace.first_rows(fit_rows), job.runtimes);
}

std::optional<runtime_model::Imputation> imputation_of(job::Imputed imputed) {
  switch (imputed) {
    case job::Imputed::kTruncated:
      return runtime_model::Imputation::kTruncated;
    case job::Imputed::kPlain:
      return runtime_model::Imputation::kPlain;
    case job::Imputed::kNone:
      break;
  }
  return std::nullopt;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string decide_word(const TriedRule& rule) {
  return rule.decide ? job::Value<runtime_model::Decide>::text(*rule.decide) : "";
}

void write_plot(const job::CutoffJob& job,
                std::size_t fit_rows,
                std::vector<plot::CutoffIteration> iterations,
                const TrialResult& oracle) {
  plot::CutoffFigure figure{
      .trace = std::filesystem::path(job.runtimes).filename().string(),
      .rule =
          job.models.front() + ", " + job::Value<runtime_model::Decide>::text(job.decide.back()),
      .first_row = fit_rows,
      .iterations = std::move(iterations),
      .window = plot::window_from(job.plot_from, fit_rows, oracle.rows.size())};
  for (std::size_t i = 0; i < figure.iterations.size(); ++i) {
    figure.iterations[i].oracle = {.seconds = oracle.rows[i].seconds,
                                   .count = oracle.rows[i].count};
  }
  run::write_whole_file("plot", job.plot, plot::cutoff_plot_of(figure));
}

void write_decisions(const std::string& path, std::size_t fit_rows, const Tried& tried) {
  std::string text = "row,model,decide,stop_seconds,count\n";
  for (const TriedRule& rule : tried) {
    for (std::size_t i = 0; i < rule.result.rows.size(); ++i) {
      text += fmt::format("{},{},{},{:.9g},{}\n",
                          fit_rows + i,
                          rule.model,
                          decide_word(rule),
                          rule.result.rows[i].seconds,
                          rule.result.rows[i].count);
    }
  }
  run::write_whole_file("decisions", path, text);
}

void print_json(const job::CutoffJob& job, const Trace& trace, const Tried& tried) {
  const double sync = tried.front().result.omega;
  const double oracle = tried.back().result.omega;
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const TriedRule& rule : tried) {
    const TrialResult& found = rule.result;
    nlohmann::ordered_json one{{"model", rule.model}};
    one["decide"] = nullptr;
    if (rule.decide) {
      one["decide"] = decide_word(rule);
    }
    one["omega"] = found.omega;
    one["relative_to_sync"] = found.omega / sync;
    one["relative_to_oracle"] = found.omega / oracle;
    if (rule.decide) {
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
  const nlohmann::ordered_json all{{"trace", job.runtimes},
                                   {"workers", trace.workers()},
                                   {"rows", trace.rows()},
                                   {"cut", job::Value<runtime_model::Cut>::text(job.cut)},
                                   {"late", job::Value<job::Late>::text(job.late)},
                                   {"imputation", job::Value<job::Imputed>::text(job.imputation)},
                                   {"results", std::move(results)}};
  std::puts(all.dump().c_str());
}

void print_table(const job::CutoffJob& job, const Trace& trace, const Tried& tried) {
  const double sync = tried.front().result.omega;
  const double oracle = tried.back().result.omega;
  fmt::print("{}: {} workers, {} iterations, the last {} are judged; cut: {}\n\n",
             job.runtimes,
             trace.workers(),
             trace.rows(),
             tried.front().result.rows.size(),
             job::Value<runtime_model::Cut>::text(job.cut));
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
  for (const TriedRule& rule : tried) {
    const TrialResult& found = rule.result;
    fmt::print("{:<11}{:<10}{:>12.1f}{:>9.3f}{:>10.3f}",
               rule.model,
               rule.decide ? decide_word(rule) : "-",
               found.omega,
               found.omega / sync,
               found.omega / oracle);
    if (rule.decide) {
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
      "\nsync waits for all workers; best_fixed is the best count in hindsight, oracle the best "
      "count "
      "of each\niteration. in 50 %, in 90 %: how often arrivals were within those intervals of the "
      "forecast. decision ms:\nthe time to decide in one iteration, which is part of it.\n");
}

int cutoff(const job::CutoffJob& job) {
  check(job);
  if (is_to_fit(job)) {
    require_libtorch("fitting a deep model");
  }
  const Trace trace =
      record::parse_runtimes(run::whole_file("runtimes", job.runtimes), job.runtimes);
  const auto fit_rows =
      static_cast<std::size_t>(job.fit_fraction * static_cast<double>(trace.rows()));
  // A wrong row is refused before the first trial.
  (void)plot::window_from(job.plot_from, fit_rows, trace.rows() - fit_rows);
  const std::optional<DeepWeights> deep = deep_weights(trace, fit_rows, job);
  std::vector<plot::CutoffIteration> plotted;
  runtime_model::TrialOptions how{.fit_rows = fit_rows,
                                  .cut = job.cut,
                                  .late_corrects = job.late == job::Late::kCorrect,
                                  .clock = steady_seconds,
                                  .watch = {}};
  if (!job.plot.empty()) {
    how.watch = [&plotted](const runtime_model::TrialView& view) {
      plotted.push_back(plot::to_iteration(view));
    };
  }
  const Tried tried = try_rules(trace,
                                {.models = job.models,
                                 .decide = job.decide,
                                 .imputation = imputation_of(job.imputation),
                                 .deep = deep ? &*deep : nullptr},
                                how);
  if (!job.decisions.empty()) {
    write_decisions(job.decisions, fit_rows, tried);
  }
  if (job.json) {
    print_json(job, trace, tried);
  } else {
    print_table(job, trace, tried);
  }
  if (!job.plot.empty()) {
    write_plot(job, fit_rows, std::move(plotted), tried.back().result);
  }
  return 0;
}

}  // namespace

Run add_cutoff(job::OptionList& list) {
  auto job = std::make_shared<job::CutoffJob>();
  declare(list, *job);
  return [job](const job::OptionList& /*chosen*/) { return cutoff(*job); };
}

}  // namespace outpace::cli
