#include "live/lone_run.h"

#include <exception>
#include <thread>
#include <utility>

#include "base/check.h"
#include "live/worker_loop.h"

namespace outpace::live {

RunResult run_alone(ServerOptions options, worker::GradientSource& source) {
  CHECK(options.coordinator.workers == 1);
  const std::string token = options.token;
  Server server(std::move(options), {});
  RunResult result;
  std::exception_ptr failed;
  std::thread serving([&] {
    try {
      result = server.run();
    } catch (...) {
      failed = std::current_exception();
    }
  });
  try {
    run_worker({.session = {.server = server.address(), .token = token, .worker = WorkerId{0}}},
               source,
               worker::Pace(worker::PaceOptions{}));
  } catch (const std::exception& error) {
    server.stop(ExitCode::kFailure, error.what());
  }
  serving.join();
  if (failed) {
    std::rethrow_exception(failed);
  }
  if (result.code != ExitCode::kDone) {
    throw Error(result.code, result.why);
  }
  return result;
}

}  // namespace outpace::live
