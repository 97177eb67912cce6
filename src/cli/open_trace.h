// --trace FILE of live and simulated runs.

#pragma once

#include <memory>

#include "base/error.h"
#include "cli/options.h"
#include "record/chrome_trace.h"

namespace outpace::cli {

// Null if none was asked for. Throws a usage error if the file cannot be written.
[[nodiscard]] inline std::unique_ptr<record::ChromeTrace> open_trace(const JobOptions& options) {
  if (options.trace.empty()) {
    return nullptr;
  }
  try {
    return std::make_unique<record::ChromeTrace>(options.trace, options.policy);
  } catch (const Error& error) {
    throw usage_error(std::string("--trace: ") + error.what());
  }
}

}  // namespace outpace::cli
