// --trace FILE of live and simulated runs.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "record/chrome_trace.h"

namespace outpace::run {

// Null if none was asked for. Throws a usage error if the file cannot be made. `told`: whether it
// may have gaps; `queue`: writes it.
[[nodiscard]] inline std::unique_ptr<record::ChromeTrace> open_trace(
    const std::string& file,
    const std::string& policy,
    record::GapTold told = nullptr,
    record::WriteQueue* queue = nullptr) {
  if (file.empty()) {
    return nullptr;
  }
  try {
    return std::make_unique<record::ChromeTrace>(file, policy, std::move(told), queue);
  } catch (const Error& error) {
    throw usage_error(std::string("--trace: ") + error.what());
  }
}

}  // namespace outpace::run
