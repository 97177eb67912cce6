// Tested by test/program/launch_test.py (class Torchrun).

#include "cli/launch_part.h"

#include "command_line/command_line.h"
#include "wire/environment.h"

namespace outpace::cli {

std::optional<launch::TrainPart> join_launch(job::OptionList& options, const LaunchedJob& job) {
  const bool given = options.given("workers");
  auto part = launch::find_train_part(
      wire::environment_variables(),
      {.launcher = job.launcher,
       .token_file = job.token_file,
       .listen = job.serving.listen,
       .workers = given ? std::optional(job.training.workers) : std::nullopt});
  if (part) {
    if (!given) {
      options.find("workers")->set({std::to_string(part->workers)}, part->place.title);
    }
    job.serving.listen = part->address;
  }
  return part;
}

}  // namespace outpace::cli
