#include "job/whatif_job.h"

namespace outpace::job {

void declare(OptionList& options, WhatifJob& job) {
  options.add("run", job.run, "Directory of a run of train, server or simulate")
      .type("DIR")
      .positional()
      .required();
  options.add("without", job.without, "Answer for the run without this worker (repeatable)")
      .type("WORKER");
  options.add("policy", job.policies, "Answer for the run under this policy (repeatable)")
      .type("POLICY");
  options.add("workers",
              job.workers,
              "Answer for the run with this number of workers; workers beyond the run's are copies "
              "of its own (repeatable)");
  options.add("seed", job.seed, "Seed of the resamplings and of the copied workers");
  options.add("plot", job.plot, "Draw the answers to this SVG file").type("FILE");
  options.add("json", job.json, "Print the result as one JSON object on standard output");
}

}  // namespace outpace::job
