#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_recorder.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "policy/switch_spec.h"

namespace outpace::cli {
namespace {

struct ServerCommandOptions {
  JobOptions job;
  std::string token_file;
};

int serve(const ServerCommandOptions& options, const std::string& resolved) {
  live::ServerOptions server_options = to_server_options(options.job);
  if (server_options.listen.empty()) {
    server_options.listen = "127.0.0.1:0";
  }
  server_options.token = live::token_of_server(options.token_file);
  server_options.expects_evaluator = options.job.target_accuracy.has_value() ||
                                     policy::waits_for_evaluator(Spec::parse(options.job.policy));
  const bool expects_evaluator = server_options.expects_evaluator;
  live::block_supervised_signals();
  RunRecorder recorder(options.job, resolved);
  live::Server server(std::move(server_options), recorder.watch());
  recorder.reachable(server.address(), options.token_file);
  const std::string how = " --server " + server.address() + " --token-file " + options.token_file;
  recorder.say("listening on " + server.address() + "; workers: outpace worker" + how);
  if (expects_evaluator) {
    recorder.say("the run begins when there is an evaluator too: outpace evaluator" + how);
  }
  // A supervisor without children: it turns Ctrl-C into an orderly end.
  live::Supervisor signals({}, {.interrupted = [&server](int signal) {
                             server.stop(ExitCode{128 + signal}, "interrupted");
                           }});
  const live::RunResult result = server.run();
  signals.reap(std::chrono::milliseconds(0));
  const record::Summary summary = recorder.finish(result, "the workers'", "the workers'");
  print_result(summary, recorder, options.job.json);
  if (result.code != ExitCode::kDone) {
    throw Error(result.code, result.why);
  }
  return 0;
}

}  // namespace

Run add_server(CLI::App& command) {
  auto options = std::make_shared<ServerCommandOptions>();
  add_job_options(command, options->job);
  command
      .add_option("--token-file",
                  options->token_file,
                  "The job's secret, mode 0600; made if it is not there")
      ->required();
  return [options](const CLI::App& chosen, const Origins& origins) {
    return serve(*options, resolved_toml(chosen, origins));
  };
}

}  // namespace outpace::cli
