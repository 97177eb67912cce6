// The options of processes that connect to a server.

#include "job/live_job.h"

namespace outpace::job {

void declare_reaching(OptionList& options, Reaching& reaching) {
  options.add("connect-deadline", reaching.deadline, "How long to try to reach the server");
  options.add("rejoin-for",
              reaching.rejoin_for,
              "How long to try to find the server again when the connection is lost; then exit "
              "with code 1");
  options.add("keep-alive",
              reaching.keep_alive,
              "Give up a TCP connection when the server's machine has not answered for this time");
  options
      .add("connections",
           reaching.connections,
           "TCP connections to the server that carry gradients and weights together: several send "
           "more over a long link, and the rest goes on when one is lost")
      .between(1, kConnectionsMost)
      .default_words("by the round trip: 1 below 5 ms, else 4");
}

void declare_on_notice(OptionList& options, std::string& command) {
  options
      .add("on-notice",
           command,
           "Run this command, by sh, every 2 s; when its exit code is 0, this machine is about to "
           "be taken away, and what runs here leaves the job as at SIGTERM")
      .type("COMMAND");
}

void declare(OptionList& options, WorkerJob& job) {
  options.add("server", job.server, "Address of the job's server: HOST:PORT or unix:PATH")
      .type("ADDRESS")
      .default_words("as the launcher says");
  options.add("token-file", job.token_file, "File with the job's secret, mode 0600")
      .type("FILE")
      .required();
  declare_tls_of_client(options, job.tls, job.insecure_no_tls);
  options.add("seed", job.seed, "Seed of the initial weights: the same on every worker");
  declare_reaching(options, job.reaching);
  declare(options, job.work);
  declare(options, job.work.slice);
  options.add("worker", job.worker, "This worker's rank: 0, 1, 2, ...")
      .default_words("as the launcher says");
  options.add("workers", job.workers, "Number of workers in the job: the columns of --delays")
      .default_words("as the launcher says");
  declare_steps_ahead(options, job.steps_ahead);
  options
      .add("compress",
           job.compress,
           "How this worker writes what it pushes in fewer bytes, such as int4; none: as it is")
      .default_words("as the server says");
  options
      .add(
          "keep-state",
          job.keep_state,
          "With --local-steps: keep this worker's optimizer in this folder, and go on with it when "
          "the worker is started again")
      .type("FOLDER");
  declare_on_notice(options, job.on_notice);
  declare_launcher(options, job.launcher);
}

void declare(OptionList& options, EvaluatorJob& job) {
  options.add("server", job.server, "Address of the job's server: HOST:PORT or unix:PATH")
      .type("ADDRESS")
      .required();
  options.add("token-file", job.token_file, "File with the job's secret, mode 0600")
      .type("FILE")
      .required();
  declare_tls_of_client(options, job.tls, job.insecure_no_tls);
  options.add("seed", job.seed, "Seed of the initial weights: the same as the workers'");
  declare_reaching(options, job.reaching);
  options.add("network", job.network, "Network: the same as the workers'");
  options.add("data", job.data, "Data set: the same as the workers'");
  options.add("threads", job.threads, "Threads of libtorch").between(1);
}

}  // namespace outpace::job
