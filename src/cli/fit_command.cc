#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/libtorch.h"
#include "cli/trace_file.h"
#include "fit/deep_fit.h"
#include "record/runtime_model_file.h"

namespace outpace::cli {
namespace {

using fit::DeepFitOptions;
using fit::DeepFitProgress;
using runtime_model::DeepWeights;
using runtime_model::Trace;

struct FitCommandOptions {
  std::vector<std::string> runtimes;
  std::string model = "deep";
  std::string out;
  bool resume = false;
  DeepFitOptions fit;
};

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void require_rows(const Trace& trace, const std::string& name, const DeepFitOptions& options) {
  const std::size_t least = fit::deep_fit_rows(options);
  if (trace.rows() < least) {
    throw usage_error(fmt::format(
        "{}: {} iterations to fit to; it takes at least {}", name, trace.rows(), least));
  }
}

// Fits, and says on standard error how it goes; `keep` gets each best so far.
template <typename Keep>
DeepWeights fit_aloud(std::span<const Trace> traces, const DeepFitOptions& options, Keep keep) {
  const double begun = processor_seconds();
  const auto progress = [&](const DeepFitProgress& made, const DeepWeights& weights) {
    fmt::print(stderr,
               "fit: {:>5} of {} updates, lower bound {:.3f}, held out {:.4f} nats a runtime{}, "
               "{:.0f} s of processor\n",
               made.updates,
               options.updates,
               made.bound,
               made.held_out,
               made.best ? " (best)" : "",
               processor_seconds() - begun);
    if (made.best) {
      keep(made, weights);
    }
    return true;
  };
  return fit::fit_deep(traces, options, progress);
}

int fit_all(FitCommandOptions options) {
  if (options.model != "deep") {
    throw usage_error("--model is '" + options.model +
                      "'; only 'deep' is fitted beforehand, the others learn in the run");
  }
  std::vector<Trace> traces;
  for (const std::string& path : options.runtimes) {
    traces.push_back(read_trace(path));
    require_rows(traces.back(), path, options.fit);
  }
  const std::filesystem::path out = options.out;
  if (options.resume) {
    options.fit.begin = record::read_runtime_model(out);
  } else if (std::filesystem::exists(out)) {
    throw usage_error("-o: " + out.string() + " exists; --resume goes on with it");
  }
  const auto keep = [&out](const DeepFitProgress& made, const DeepWeights& weights) {
    record::write_runtime_model(out,
                                weights,
                                {{"updates", std::to_string(made.updates)},
                                 {"held_out", fmt::format("{:.4f}", made.held_out)}});
  };
  const DeepWeights found = fit_aloud(traces, options.fit, keep);
  if (!std::filesystem::exists(out)) {  // Nothing was better than the beginning.
    keep({}, found);
  }
  fmt::print("{}: a deep runtime model of {} weights, fitted to {} iterations\n",
             out.string(),
             found.numbers.size(),
             [&] {
               std::size_t rows = 0;
               for (const Trace& trace : traces) {
                 rows += trace.rows();
               }
               return rows;
             }());
  return 0;
}

}  // namespace

DeepWeights fit_to(const Trace& trace, const std::string& name) {
  const DeepFitOptions options;
  require_rows(trace, name, options);
  return fit_aloud(
      std::span(&trace, 1), options, [](const DeepFitProgress&, const DeepWeights&) {});
}

Run add_fit(job::OptionList& list) {
  auto options = std::make_shared<FitCommandOptions>();
  list.add_positional("runtimes",
                  options->runtimes,
                  "CSVs of seconds: a column a worker, a row an iteration; runs' runtimes.csv")
      .required();
  list.add("model", options->model, "Which runtime model: deep");
  list.add_letter_o("out", options->out, "The file to write, safetensors").required();
  list.add("resume", options->resume, "Go on with the model in that file");
  list.add("updates", options->fit.updates, "At most so many")
      .between(1, 1'000'000U);
  list.add("seed", options->fit.seed, "Of the weights at the start, and what is drawn");
  return [options](const job::OptionList& /*chosen*/) {
    return fit_all(*options);
  };
}

}  // namespace outpace::cli
