#include "job/cutoff_job.h"

#include <algorithm>

#include "base/error.h"
#include "runtime_model/model_list.h"

namespace outpace::job {
namespace {

void declare_rules(OptionList& options, CutoffJob& job) {
  options
      .add("fit-fraction",
           job.fit_fraction,
           "Share of the iterations, from the first, that the model sees whole and that are not "
           "judged; 0 learns during the run")
      .between(0.0, 1.0);
  options
      .add(
          "models",
          job.models,
          "Runtime models to try: auto, switching, ewma, kalman, last, elfving, elfving-truncated, "
          "elfving-observed, deep or deep-joint")
      .type("MODELS")
      .separated_by(',');
  options
      .add("model-file",
           job.model_files,
           "Files of weights of deep or deep-joint that outpace fit wrote, separated by commas; "
           "auto uses those of deep too. What has no file is fitted to the first share")
      .type("FILES")
      .separated_by(',');
  options
      .add("decide",
           job.decide,
           "When to decide. before: a count, when the iteration begins. deadline: a count or a "
           "deadline, when it begins. during: again at every arrival and tick")
      .separated_by(',');
  options.add("cut",
              job.cut,
              "cancel: a worker that is cut off gives up. finish: it finishes, and begins the next "
              "iteration late");
  options.add("late",
              job.late,
              "With --cut finish. correct: show the model each late runtime when it comes. ignore: "
              "never show it");
  options
      .add("imputation",
           job.imputation,
           "What the model is shown of a worker that was cut off. none: that it takes longer. "
           "truncated: a draw of its forecast, longer than the cutoff. plain: any draw. true: the "
           "runtime it would have had, which only a replay knows")
      .separated_by(',');
  options.add("deciding",
              job.deciding,
              "counted: the time to decide is part of an iteration. free: it takes none, so the "
              "result is the same on each machine");
}

void check_file(const CutoffJob& job,
                std::span<const runtime_model::DeepWeights> fitted,
                std::size_t file,
                std::uint32_t workers) {
  const runtime_model::DeepShape& shape = fitted[file].shape;
  const std::string model = runtime_model::model_of(shape);
  const std::string name = "--model-file: '" + job.model_files[file] + "' ";
  if (std::ranges::none_of(
          job.models, [&](const std::string& one) { return runtime_model::takes(one, shape); })) {
    throw usage_error(name + "has weights of " + model +
                      ", which no model of --models uses; remove it, or add " + model);
  }
  if (runtime_model::is_joint(shape) && shape.workers != workers) {
    throw usage_error(name + "was fitted to " + std::to_string(shape.workers) +
                      " workers, and the runtimes have " + std::to_string(workers) +
                      "; give a file that was fitted to this cluster");
  }
  const auto earlier = fitted.first(file);
  const auto same = std::ranges::find_if(earlier, [&](const runtime_model::DeepWeights& other) {
    return runtime_model::model_of(other.shape) == model;
  });
  if (same != earlier.end()) {
    throw usage_error(name + "has weights of " + model + ", as '" +
                      job.model_files[static_cast<std::size_t>(same - earlier.begin())] +
                      "' has; give one of them");
  }
}

}  // namespace

void declare(OptionList& options, CutoffJob& job) {
  options
      .add("runtimes",
           job.runtimes,
           "CSV of runtimes in seconds: a column for each worker, a row for each iteration; a "
           "run's runtimes.csv is one")
      .type("FILE")
      .positional()
      .required();
  declare_rules(options, job);
  options
      .add("decisions",
           job.decisions,
           "Write when each iteration ended to this CSV, with the columns "
           "row,model,decide,imputation,stop_seconds,count")
      .type("FILE");
  options
      .add("plot",
           job.plot,
           "Draw what the first of --models forecast and did, under the last of --decide, to this "
           "SVG file")
      .type("FILE");
  options
      .add("plot-from",
           job.plot_from,
           "Row of the trace at which the plot's window of 100 iterations begins")
      .default_words("the last 100");
  options.add("json", job.json, "Print the result as one JSON object on standard output");
}

void check(const CutoffJob& job) {
  if (!(job.fit_fraction >= 0.0 && job.fit_fraction < 1.0)) {  // This refuses NaN, too.
    throw usage_error("--fit-fraction is " + number_text(job.fit_fraction) +
                      "; it takes a number from 0 to less than 1");
  }
  if (job.late == Late::kIgnore && job.cut == runtime_model::Cut::kCancel) {
    throw usage_error(
        "--late ignore conflicts with --cut cancel: nothing comes late; say --cut "
        "finish");
  }
  if (job.plot_from && job.plot.empty()) {
    throw usage_error("--plot-from without --plot: nothing is drawn; add --plot FILE.svg");
  }
}

void check_files(const CutoffJob& job,
                 std::span<const runtime_model::DeepWeights> fitted,
                 std::uint32_t workers) {
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    check_file(job, fitted, i, workers);
  }
}

std::vector<std::string> models_to_fit(const CutoffJob& job,
                                       std::span<const runtime_model::DeepWeights> fitted) {
  std::vector<std::string> to_fit;
  for (const runtime_model::Entry& entry : runtime_model::catalogue()) {
    const bool is_named = std::ranges::find(job.models, entry.name) != job.models.end();
    const bool has_file =
        std::ranges::any_of(fitted, [&](const runtime_model::DeepWeights& weights) {
          return runtime_model::takes(entry.name, weights.shape);
        });
    if (entry.fitted && is_named && !has_file) {
      to_fit.push_back(entry.name);
    }
  }
  return to_fit;
}

}  // namespace outpace::job
