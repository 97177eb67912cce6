// A job with its options declared, for tests to set as a command line would.

#pragma once

#include <string>
#include <vector>

#include "job/layers.h"
#include "job/option_list.h"

namespace outpace::job {

template <typename Job>
struct Declared {
  Declared() { declare(options, job); }

  Declared& give(const std::string& option, const std::vector<std::string>& texts) {
    options.find(option)->set(texts, kCommandLine);
    return *this;
  }
  Declared& give(const std::string& option, const std::string& text) {
    return give(option, std::vector<std::string>{text});
  }

  Job job;
  OptionList options;
};

}  // namespace outpace::job
