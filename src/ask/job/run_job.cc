#include "job/run_job.h"

#include "base/error.h"

namespace outpace::job {

void declare(OptionList& options, RunJob& job) {
  options
      .add("command",
           job.command,
           "Command of each worker and its words, after --: a program that joins by the Python "
           "package or include/outpace/worker.h")
      .type("COMMAND")
      .positional();
  declare(options, job.training);
  declare_of_server(options, job.membership, job.serving, job.checkpoints, job.output);
  options.add("show-output",
              job.show_output,
              "Standard output to show, line by line: first shows worker 0's and the evaluator's, "
              "all every worker's; logs/ in the run's directory keeps all");
  options.add("threads", job.threads, "OMP_NUM_THREADS of each worker")
      .between(1)
      .default_words("1, or OMP_NUM_THREADS if it is set");
  declare(options, job.delays);
  declare_children(options, job.worker_prefix, job.restart_workers);
  declare_steps_ahead(options, job.steps_ahead);
  declare_keep_worker_state(options, job.keep_worker_state);
  declare_launch(options, job.token_file, job.rejoin_for, job.launcher);
}

void check(const RunJob& job, const ReadFile& read_file) {
  const std::string steps = conflicts_with_script(job.training);
  if (job.training.local_steps && !steps.empty()) {
    throw usage_error("run: " + steps + " conflicts with --local-steps " +
                      std::to_string(*job.training.local_steps) +
                      ": the script's own optimizer makes these steps; remove it, or set "
                      "--outer-optimizer, the server's");
  }
  check_steps_ahead(job.steps_ahead, job.training.local_steps.has_value());
  check_keep_worker_state(job.keep_worker_state, job.training.local_steps.has_value());
  (void)paces_of(job.delays, job.training.workers, read_file);
}

Training without_script(Training training) {
  if (training.optimizer.text == kScriptOptimizer) {
    training.optimizer = Spec::parse("sgd");
  }
  return training;
}

std::string conflicts_with_script(const Training& training) {
  if (training.optimizer.text != kScriptOptimizer) {
    return "--optimizer " + training.optimizer.text;
  }
  if (training.rate) {
    return "--lr " + Value<double>::text(*training.rate);
  }
  if (training.weight_decay != 0.0) {
    return "--weight-decay " + Value<double>::text(training.weight_decay);
  }
  return training.schedule.text == "constant" ? "" : "--schedule " + training.schedule.text;
}

bool script_ends(const Training& training) {
  const server::Limits& limits = training.limits;
  return limits.updates == 0 && limits.iterations == 0 && limits.epochs == 0 &&
         limits.seconds == Duration{};
}

}  // namespace outpace::job
