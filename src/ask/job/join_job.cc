#include "job/join_job.h"

#include "base/error.h"
#include "protocol/messages.h"

namespace outpace::job {

namespace {

// What the parser leaves in the code's place where the command follows at once.
constexpr const char* kNoCode = "--";

}  // namespace

void declare(OptionList& options, JoinJob& job) {
  options
      .add("code", job.code, "The code that the server prints, or - to read it from standard input")
      .type("CODE")
      .positional();
  options
      .add("command",
           job.command,
           "Command of each worker and its words, after --: a program that joins by the Python "
           "package or include/outpace/worker.h, or outpace worker. None for a ring or a gossip, "
           "whose first machine tells the workers what to do")
      .type("COMMAND")
      .positional();
  options
      .add("code-file",
           job.code_file,
           "Read the code from this file, so that it is in no list of processes and in no history "
           "of a shell")
      .type("FILE");
  options.add("workers-here", job.workers_here, "Workers to start on this machine")
      .between(1, protocol::kSeatsMax);
  options
      .add("server",
           job.server,
           "Address of the server, in place of those that the code has: HOST:PORT")
      .type("ADDRESS");
  options.add("show-output",
              job.show_output,
              "Standard output to show, line by line: first shows the first worker's, all every "
              "worker's; logs/ in the directory of --out keeps all");
  options.add("threads", job.threads, "OMP_NUM_THREADS of each worker")
      .between(1)
      .default_words("1, or OMP_NUM_THREADS if it is set");
  declare_children(options, job.worker_prefix, job.restart_workers);
  options.add("out", job.out, "Directory for the workers' logs")
      .type("DIR")
      .default_words("runs/TIME-join");
  declare_on_notice(options, job.on_notice);
  declare_reaching(options, job.reaching);
}

JoinWords words_of(const JoinJob& job) {
  JoinWords found{.code = {}, .command = job.command};
  if (job.code_file.empty()) {
    if (job.code.empty() || job.code == kNoCode) {
      throw usage_error(
          "join: the code is missing: outpace join CODE -- python3 train.py, outpace join - -- ... "
          "to read it from standard input, or --code-file FILE");
    }
    found.code = job.code;
  } else if (job.code.starts_with("outpace1") || job.code == "-") {
    throw usage_error("join: a code and --code-file: give one of them");
  } else if (!job.code.empty() && job.code != kNoCode) {
    found.command.insert(found.command.begin(), job.code);
  }
  return found;
}

}  // namespace outpace::job
