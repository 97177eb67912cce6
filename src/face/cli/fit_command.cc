#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/libtorch.h"
#include "fit/deep_fit.h"
#include "job/fit_job.h"
#include "record/runtime_model_file.h"
#include "record/runtime_trace.h"
#include "run/whole_file.h"
#include "runtime_model/model_list.h"

namespace outpace::cli {
namespace {

using fit::DeepFitOptions;
using fit::DeepFitProgress;
using runtime_model::DeepWeights;
using runtime_model::Trace;

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// The shape to begin with for these traces, which `names` names.
runtime_model::DeepShape shape_for(const std::string& model,
                                   std::span<const Trace> traces,
                                   std::span<const std::string> names) {
  if (model != "deep-joint") {
    return {};
  }
  const std::uint32_t workers = traces.front().workers();
  if (workers > runtime_model::kJointWorkersMost) {
    throw usage_error(fmt::format("{}: {} workers; deep-joint takes at most {}",
                                  names.front(),
                                  workers,
                                  runtime_model::kJointWorkersMost));
  }
  for (std::size_t i = 1; i < traces.size(); ++i) {
    if (traces[i].workers() != workers) {
      throw usage_error(
          fmt::format("{}: {} workers, and {} has {}; deep-joint is fitted to one cluster, so give "
                      "files of one",
                      names[i],
                      traces[i].workers(),
                      names.front(),
                      workers));
    }
  }
  return runtime_model::joint_shape(workers);
}

void require_rows(const Trace& trace, const std::string& name, const DeepFitOptions& options) {
  const std::size_t least = fit::deep_fit_rows(options);
  if (trace.rows() < least) {
    throw usage_error(
        fmt::format("{}: {} iterations; fitting takes at least {}", name, trace.rows(), least));
  }
}

// Fits, and reports progress on standard error; `keep` gets each set of weights that is best so
// far.
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

int fit_all(const job::FitJob& job) {
  check(job);
  DeepFitOptions options{.seed = job.seed, .updates = job.updates};
  std::vector<Trace> traces;
  for (const std::string& path : job.runtimes) {
    traces.push_back(record::parse_runtimes(run::whole_file("runtimes", path), path));
  }
  options.shape = shape_for(job.model, traces, job.runtimes);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    require_rows(traces[i], job.runtimes[i], options);
    rows += traces[i].rows();
  }
  const std::filesystem::path out = job.out;
  if (job.resume) {
    options.begin = record::read_runtime_model(out);
    (void)runtime_model::make_model(job.model, traces.front().workers(), &*options.begin);
  } else if (std::filesystem::exists(out)) {
    throw usage_error("--out: " + out.string() +
                      " exists; name another file, or add --resume to continue with it");
  }
  const auto keep = [&out](const DeepFitProgress& made, const DeepWeights& weights) {
    record::write_runtime_model(out,
                                weights,
                                {{"updates", std::to_string(made.updates)},
                                 {"held_out", fmt::format("{:.4f}", made.held_out)}});
  };
  const DeepWeights found = fit_aloud(traces, options, keep);
  if (!std::filesystem::exists(out)) {  // No weights were better than the initial ones.
    keep({}, found);
  }
  fmt::print("{}: a {} runtime model of {} weights, fitted to {} iterations\n",
             out.string(),
             job.model,
             found.numbers.size(),
             rows);
  return 0;
}

}  // namespace

DeepWeights fit_to(const std::string& model, const Trace& trace, const std::string& name) {
  const DeepFitOptions options{.shape = shape_for(model, std::span(&trace, 1), std::span(&name, 1)),
                               .begin = {}};
  require_rows(trace, name, options);
  return fit_aloud(
      std::span(&trace, 1), options, [](const DeepFitProgress&, const DeepWeights&) {});
}

Run add_fit(job::OptionList& list) {
  auto job = std::make_shared<job::FitJob>();
  declare(list, *job);
  return [job](const job::OptionList& /*chosen*/) { return fit_all(*job); };
}

}  // namespace outpace::cli
