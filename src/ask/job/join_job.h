// The job of `outpace join`: a user's command as workers of a run whose server is elsewhere.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/live_job.h"
#include "job/option_list.h"
#include "job/run_job.h"

namespace outpace::job {

struct JoinJob {
  std::string code;  // Or the command's first word, if a file has the code.
  std::vector<std::string> command;
  std::string code_file;
  std::uint32_t workers_here = 1;
  std::string server;  // In place of the code's addresses; empty: those.
  ShowOutput show_output = ShowOutput::kFirst;
  std::optional<std::uint32_t> threads;  // Nothing: 1, or as OMP_NUM_THREADS says.
  std::string worker_prefix;
  bool restart_workers = false;
  std::string out;        // A directory; empty: the default.
  std::string on_notice;  // A command; empty: none.
  Reaching reaching;
};
void declare(OptionList& options, JoinJob& job);

// The code's word, "-" for standard input, or nothing if a file has it; and the command, which may
// be missing. Throws a usage error if the code is.
struct JoinWords {
  std::optional<std::string> code;
  std::vector<std::string> command;
};
[[nodiscard]] JoinWords words_of(const JoinJob& job);

}  // namespace outpace::job
