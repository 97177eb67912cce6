// What `outpace whatif` is asked of a recorded run.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/option_list.h"

namespace outpace::job {

struct WhatifJob {
  std::string run;                     // A directory.
  std::vector<std::uint32_t> without;  // Workers. Without these, policies and workers: defaults.
  std::vector<std::string> policies;
  std::vector<std::uint32_t> workers;
  std::uint64_t seed = 1;
  std::uint32_t resamplings = 20;  // For the record's time, for the intervals; 0: there are none.
  std::string plot;                // A file; empty: none.
  bool json = false;
};
void declare(OptionList& options, WhatifJob& job);

}  // namespace outpace::job
