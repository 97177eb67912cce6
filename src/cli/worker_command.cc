#include <fstream>
#include <memory>
#include <sstream>

#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "learn/gradients.h"
#include "live/token_file.h"
#include "live/worker_loop.h"

namespace outpace::cli {
namespace {

struct RoleOptions {
  WorkOptions work;
  std::string server;
  std::string token_file;
  std::uint32_t worker = 0;
  std::uint32_t workers = 0;
  std::uint32_t incarnation = 1;
  std::uint64_t seed = 1;
  std::string deadline = "60s";
};

void add_role_options(CLI::App& command, RoleOptions& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--server", options.server, "HOST:PORT or unix:PATH of the job's server")
      ->required();
  command.add_option("--token-file", options.token_file, "The job's secret, mode 0600")->required();
  command.add_option("--seed", options.seed, "Of the initial weights: the same on every worker");
  command.add_option("--connect-deadline", options.deadline, "How long to try to reach the server");
}

live::SessionOptions session_of(const RoleOptions& options) {
  return {.server = options.server,
          .token = live::read_token_file(options.token_file),
          .worker = WorkerId{options.worker},
          .incarnation = options.incarnation,
          .deadline = duration_option("connect-deadline", options.deadline)};
}

int work(const RoleOptions& options) {
  if (options.worker >= protocol::kWorkersMax) {
    throw usage_error("--worker is " + std::to_string(options.worker) + "; it takes 0 to " +
                      std::to_string(protocol::kWorkersMax - 1));
  }
  const live::SessionOptions session = session_of(options);
  const worker::Pace pace =
      make_pace(options.work, options.worker, std::max(options.workers, options.worker + 1));
  const auto source =
      learn::make_gradient_source(Spec::parse(options.work.network),
                                  Spec::parse(options.work.data),
                                  {options.seed, static_cast<int>(options.work.threads)});
  live::run_worker({.session = session}, *source, pace);
  return 0;
}

int evaluate(const RoleOptions& options) {
  // Off the workers' path: what is left of the machine is enough.
  constexpr int kNice = 5;
  if (nice(kNice) == -1) {
    // Not being nice is no reason to fail.
  }
  const live::SessionOptions session = session_of(options);
  const auto evaluator =
      learn::make_evaluator(Spec::parse(options.work.network),
                            Spec::parse(options.work.data),
                            {options.seed, static_cast<int>(options.work.threads)});
  live::run_evaluator(session, *evaluator);
  return 0;
}

}  // namespace

Run add_worker(CLI::App& command) {
  auto options = std::make_shared<RoleOptions>();
  add_role_options(command, *options);
  add_work_options(command, options->work);
  command.add_option("--worker", options->worker, "This worker's rank: 0, 1, 2, ...")->required();
  command.add_option("--workers", options->workers, "Workers in the job: the columns of --delays");
  command.add_option("--incarnation",
                     options->incarnation,
                     "Greater than that of any earlier process of this rank");
  return
      [options](const CLI::App& /*chosen*/, const Origins& /*origins*/) { return work(*options); };
}

Run add_evaluator(CLI::App& command) {
  auto options = std::make_shared<RoleOptions>();
  add_role_options(command, *options);
  command.add_option("--network", options->work.network, "As the workers'");
  command.add_option("--data", options->work.data, "As the workers'");
  command.add_option("--threads", options->work.threads, "Of libtorch");
  return [options](const CLI::App& /*chosen*/, const Origins& /*origins*/) {
    return evaluate(*options);
  };
}

}  // namespace outpace::cli
