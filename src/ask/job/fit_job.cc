#include "job/fit_job.h"

#include "base/error.h"

namespace outpace::job {

void declare(OptionList& options, FitJob& job) {
  constexpr double kUpdatesMost = 1'000'000;
  options
      .add("runtimes",
           job.runtimes,
           "CSV files of runtimes in seconds: a column for each worker, a row for each iteration; "
           "a run's runtimes.csv is one")
      .type("FILE")
      .positional()
      .required();
  options.add("model",
              job.model,
              "Runtime model to fit. deep: one state a worker, for any number of workers. "
              "deep-joint: one state of the whole cluster, for as many workers as the files have");
  options.add("out", job.out, "File to write the fitted weights to, as safetensors")
      .type("FILE")
      .letter('o')
      .required();
  options.add("resume", job.resume, "Start from the weights in the file of --out");
  options.add("updates", job.updates, "Stop after this many updates").between(1, kUpdatesMost);
  options.add("seed", job.seed, "Seed of the initial weights and of all that is drawn");
}

void check(const FitJob& job) {
  if (job.model != "deep" && job.model != "deep-joint") {
    throw usage_error("--model is '" + job.model +
                      "'; it takes deep or deep-joint, for the other models learn during the run");
  }
}

}  // namespace outpace::job
