// The job of `outpace doctor`: what it looks at beside the machine itself.

#pragma once

#include <string>

#include "job/option_list.h"

namespace outpace::job {

struct DoctorJob {
  std::string out = "runs";        // Where runs would be recorded.
  std::string python = "python3";  // As `outpace run -- python3 train.py` would start it.
  std::string server;              // HOST:PORT; empty: none, or the code's.
  std::string code_file;
};
void declare(OptionList& options, DoctorJob& job);

}  // namespace outpace::job
