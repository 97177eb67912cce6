#include "job/reduce_job.h"

#include <algorithm>

#include "base/error.h"
#include "policy/catalogue.h"
#include "policy/switch_spec.h"

namespace outpace::job {

void declare(OptionList& options, ReduceJob& job) {
  options
      .add("command",
           job.command,
           "Command of each worker of this machine and its words, after --: outpace worker, or a "
           "program that joins by the Python package or include/outpace/worker.h; none: the "
           "workers are started elsewhere and join at --listen")
      .type("COMMAND")
      .positional();
  options.add("server", job.server, "Address of the job's server: HOST:PORT or unix:PATH")
      .type("ADDRESS")
      .required();
  options.add("token-file", job.token_file, "File with the job's secret, mode 0600")
      .type("FILE")
      .required();
  declare_tls_of_client(options, job.tls, job.insecure_no_tls);
  options.add("worker", job.worker, "This machine's rank among the job's workers: 0, 1, 2, ...")
      .required();
  options.add("workers-here", job.workers_here, "Number of workers on this machine, ranks 0 to N-1")
      .between(1, protocol::kStandsForMax)
      .required();
  options
      .add("listen",
           job.listen,
           "Unix socket at which this machine's workers join: unix:PATH; they find a restarted "
           "process there again")
      .type("ADDRESS")
      .default_words("a socket in a private folder");
  options.add("policy",
              job.policy,
              "Policy that decides which of this machine's gradients are summed: sync, backup, "
              "dynamic or another one whose workers begin together");
  options
      .add("compress",
           job.compress,
           "How this machine writes what it pushes in fewer bytes, such as int4; none: as it is")
      .default_words("as the server says");
  declare_children(options, job.worker_prefix, job.restart_workers);
  declare_of_reducer(options, job.reaching, job.output);
}

void declare_reduce_here(OptionList& options, std::uint32_t& workers) {
  options
      .add("reduce-here",
           workers,
           "Start this many workers on this machine, with ranks from 0, and hand in one gradient "
           "for all of them as the job's worker --worker; 0: be one worker")
      .between(0, protocol::kStandsForMax);
}

ReduceJob reduce_job_of(const WorkerJob& job) {
  const auto refuse = [](bool given, const std::string& option) {
    if (given) {
      throw usage_error(option +
                        " conflicts with --reduce-here: it takes local steps, which a "
                        "machine does not hand in as one; remove one of the two");
    }
  };
  refuse(job.steps_ahead, "--steps-ahead");
  refuse(!job.keep_state.empty(), "--keep-state");
  return {.server = job.server,
          .token_file = job.token_file,
          .tls = job.tls,
          .insecure_no_tls = job.insecure_no_tls,
          .worker = job.worker.value_or(0),
          .workers_here = job.reduce_here,
          .compress = job.compress,
          .reaching = job.reaching};
}

std::string why_not_here(const Spec& policy) {
  const std::vector<policy::Phase> phases = policy::phases_of(policy);
  if (std::ranges::none_of(phases, [](const policy::Phase& phase) {
        return policy::is_asynchronous(phase.policy);
      })) {
    return "";
  }
  return "--policy " + policy.text +
         " conflicts with outpace reduce: one gradient of a machine is of one version of the "
         "weights; take sync, backup, kbatchsync or dynamic";
}

void check(const ReduceJob& job) {
  if (const std::string why = why_not_here(job.policy); !why.empty()) {
    throw usage_error(why);
  }
  if (!job.listen.empty() && !job.listen.starts_with("unix:")) {
    throw usage_error("--listen " + job.listen +
                      ": the workers of outpace reduce are on its machine; give unix:PATH");
  }
}

Training training_here(const ReduceJob& job) {
  Training training{.optimizer = Spec::parse(kScriptOptimizer)};
  training.policy = job.policy;
  training.workers = job.workers_here;
  return training;
}

}  // namespace outpace::job
