#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/number_text.h"
#include "base/text_table.h"
#include "base/wrapped.h"
#include "cli/commands.h"
#include "cli/libtorch.h"
#include "job/cutoff_job.h"
#include "plot/cutoff_figure.h"
#include "plot/cutoff_plot.h"
#include "record/runtime_model_file.h"
#include "record/runtime_trace.h"
#include "run/whole_file.h"
#include "runtime_model/block_bootstrap.h"
#include "runtime_model/rule_trials.h"

namespace outpace::cli {
namespace {

using runtime_model::DeepWeights;
using runtime_model::Trace;
using runtime_model::TrialResult;
using runtime_model::TriedRule;
using Tried = std::vector<TriedRule>;

// The weights in the files, and weights fitted to the first rows for each model that has no file.
std::vector<DeepWeights> fitted_weights(const Trace& trace,
                                        std::size_t fit_rows,
                                        const job::CutoffJob& job) {
  std::vector<DeepWeights> fitted;
  for (const std::string& file : job.model_files) {
    fitted.push_back(record::read_runtime_model(file));
  }
  check_files(job, fitted, trace.workers());
  for (const std::string& model : models_to_fit(job, fitted)) {
    require_libtorch("fitting a deep model");
    if (fit_rows == 0) {
      throw usage_error("--fit-fraction 0 leaves nothing to fit '" + model +
                        "' to; add --model-file");
    }
    fitted.push_back(fit_to(model, trace.first_rows(fit_rows), job.runtimes));
  }
  return fitted;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string decide_word(const TriedRule& rule) {
  return rule.decide ? job::Value<runtime_model::Decide>::text(*rule.decide) : "";
}

std::string imputation_word(const TriedRule& rule) {
  return rule.decide ? job::Value<runtime_model::Imputation>::text(rule.imputation) : "";
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
  std::string text = "row,model,decide,imputation,stop_seconds,count\n";
  for (const TriedRule& rule : tried) {
    for (std::size_t i = 0; i < rule.result.rows.size(); ++i) {
      text += fmt::format("{},{},{},{},{:.9g},{}\n",
                          fit_rows + i,
                          rule.model,
                          decide_word(rule),
                          imputation_word(rule),
                          rule.result.rows[i].seconds,
                          rule.result.rows[i].count);
    }
  }
  run::write_whole_file("decisions", path, text);
}

// Two numbers: the 95 % interval of the ratio of gradients a second.
std::array<double, 2> interval_of(const TrialResult& found, const TrialResult& base) {
  const runtime_model::Interval interval = runtime_model::ratio_interval(found.rows, base.rows);
  return {interval.low, interval.high};
}

void print_json(const job::CutoffJob& job, const Trace& trace, const Tried& tried) {
  const TrialResult& sync = tried.front().result;
  const TrialResult& oracle = tried.back().result;
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const TriedRule& rule : tried) {
    const TrialResult& found = rule.result;
    nlohmann::ordered_json one{{"model", rule.model}};
    one["decide"] = nullptr;
    one["imputation"] = nullptr;
    if (rule.decide) {
      one["decide"] = decide_word(rule);
      one["imputation"] = imputation_word(rule);
    }
    one["omega"] = found.omega;
    one["relative_to_sync"] = found.omega / sync.omega;
    one["relative_to_sync_95"] = interval_of(found, sync);
    one["relative_to_oracle"] = found.omega / oracle.omega;
    one["relative_to_oracle_95"] = interval_of(found, oracle);
    if (rule.decide) {
      one["coverage50"] = found.orders.in50;  // Not a number is null.
      one["coverage90"] = found.orders.in90;
      one["worker_coverage50"] = found.workers.in50;
      one["worker_coverage90"] = found.workers.in90;
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
                                   {"deciding", job::Value<job::Deciding>::text(job.deciding)},
                                   {"results", std::move(results)}};
  std::puts(all.dump().c_str());
}

// The columns that name a rule: of its imputation only if some rule has one.
class RuleColumns {
 public:
  explicit RuleColumns(const Tried& tried)
      : imputation_(std::ranges::any_of(tried, [](const TriedRule& rule) {
          return rule.decide && rule.imputation != runtime_model::Imputation::kNone;
        })) {}

  [[nodiscard]] TextTable table(std::initializer_list<const char*> numbers) const {
    std::vector<TextTable::Column> columns{{"model", TextTable::Align::kLeft},
                                           {"decide", TextTable::Align::kLeft}};
    if (imputation_) {
      columns.push_back({"imputation", TextTable::Align::kLeft});
    }
    for (const char* const number : numbers) {
      columns.push_back({number});
    }
    return TextTable(std::move(columns));
  }

  void add(TextTable& table, const TriedRule& rule, std::vector<std::string> numbers) const {
    std::vector<std::string> cells{rule.model, rule.decide ? decide_word(rule) : "-"};
    if (imputation_) {
      cells.push_back(rule.decide ? imputation_word(rule) : "-");
    }
    cells.insert(cells.end(), numbers.begin(), numbers.end());
    table.add_row(std::move(cells));
  }

 private:
  const bool imputation_;
};

std::string gain_table(const RuleColumns& columns, const Tried& tried) {
  const TrialResult& sync = tried.front().result;
  const TrialResult& oracle = tried.back().result;
  TextTable table = columns.table({"gradients/s", "/ sync", "95 %", "/ oracle", "decide ms"});
  for (const TriedRule& rule : tried) {
    const TrialResult& found = rule.result;
    const std::array<double, 2> interval = interval_of(found, sync);
    columns.add(table,
                rule,
                {shown::rate(found.omega),
                 fmt::format("{:.3f}", found.omega / sync.omega),
                 fmt::format("{:.2f}-{:.2f}", interval[0], interval[1]),
                 fmt::format("{:.3f}", found.omega / oracle.omega),
                 rule.decide ? fmt::format("{:.3f}", 1e3 * found.decisions_per_iteration) : "-"});
  }
  return table.text();
}

std::string forecast_table(const RuleColumns& columns, const Tried& tried) {
  TextTable table = columns.table({"in 50%", "in 90%", "x(c) 50%", "x(c) 90%", "crps ms"});
  for (const TriedRule& rule : tried) {
    if (!rule.decide) {
      continue;
    }
    const TrialResult& found = rule.result;
    columns.add(table,
                rule,
                {fmt::format("{:.1f}%", 100.0 * found.workers.in50),
                 fmt::format("{:.1f}%", 100.0 * found.workers.in90),
                 fmt::format("{:.1f}%", 100.0 * found.orders.in50),
                 fmt::format("{:.1f}%", 100.0 * found.orders.in90),
                 fmt::format("{:.3f}", 1e3 * found.crps)});
  }
  return table.text();
}

// Each rule of a model that chose among models: "auto, during: believed switching".
std::string beliefs(const Tried& tried) {
  std::string text;
  for (const TriedRule& rule : tried) {
    if (!rule.result.believed.empty()) {
      text += wrapped(
          fmt::format("{}, {}: believed {}", rule.model, decide_word(rule), rule.result.believed));
    }
  }
  return text;
}

void print_table(const job::CutoffJob& job, const Trace& trace, const Tried& tried) {
  const RuleColumns columns(tried);
  fmt::print("{}\n{}\n{}{}\n{}",
             wrapped(fmt::format("{}: {} workers, {} iterations, the last {} are judged; cut: {}",
                                 job.runtimes,
                                 trace.workers(),
                                 trace.rows(),
                                 tried.front().result.rows.size(),
                                 job::Value<runtime_model::Cut>::text(job.cut))),
             gain_table(columns, tried),
             forecast_table(columns, tried),
             beliefs(tried),
             wrapped(fmt::format(
                 "sync waits for all workers; best_fixed is the best count in hindsight, oracle "
                 "the best count of each iteration.\n"
                 "95 %: the interval of the ratio to sync, by a bootstrap of blocks of "
                 "iterations.\n"
                 "decide ms: the time to decide in one iteration, which is part of it{}.\n"
                 "in 50%, in 90%: how often workers' runtimes were within those intervals of their "
                 "forecast; x(c): the same of the first, second, ... arrival.\n"
                 "crps ms: the score of the forecasts of x(c), the less the better. --json has "
                 "more.",
                 job.deciding == job::Deciding::kFree ? " unless deciding is free, as here" : "")));
}

int cutoff(const job::CutoffJob& job) {
  check(job);
  const Trace trace =
      record::parse_runtimes(run::whole_file("runtimes", job.runtimes), job.runtimes);
  const auto fit_rows =
      static_cast<std::size_t>(job.fit_fraction * static_cast<double>(trace.rows()));
  // A wrong row is refused before the first trial.
  (void)plot::window_from(job.plot_from, fit_rows, trace.rows() - fit_rows);
  const std::vector<DeepWeights> fitted = fitted_weights(trace, fit_rows, job);
  std::vector<plot::CutoffIteration> plotted;
  runtime_model::TrialOptions how{.fit_rows = fit_rows,
                                  .cut = job.cut,
                                  .late_corrects = job.late == job::Late::kCorrect,
                                  .clock = {},
                                  .watch = {}};
  if (job.deciding == job::Deciding::kCounted) {
    how.clock = steady_seconds;
  }
  if (!job.plot.empty()) {
    how.watch = [&plotted](const runtime_model::TrialView& view) {
      plotted.push_back(plot::to_iteration(view));
    };
  }
  const Tried tried = try_rules(
      trace,
      {.models = job.models, .decide = job.decide, .imputation = job.imputation, .fitted = fitted},
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
