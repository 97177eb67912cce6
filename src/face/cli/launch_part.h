// This process's part in a launch by torchrun, srun, mpirun and others, for `train` and `run`.

#pragma once

#include <optional>
#include <string>

#include "job/live_job.h"
#include "job/option_list.h"
#include "launch/train_part.h"

namespace outpace::cli {

// The options that a launch has a say in.
struct LaunchedJob {
  const std::string& launcher;
  const std::string& token_file;
  job::Serving& serving;
  const job::Training& training;
};

// Nothing if there is no launch. The job then says what the launch says: the number of workers and
// the address. Throws as launch::find_train_part() does.
[[nodiscard]] std::optional<launch::TrainPart> join_launch(job::OptionList& options,
                                                           const LaunchedJob& job);

}  // namespace outpace::cli
