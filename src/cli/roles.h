// What `outpace worker` does, for `outpace train` behind a launcher as well.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "launch/place.h"
#include "worker/gradient_source.h"

namespace outpace::cli {

struct RoleOptions {
  WorkOptions work;
  std::string server;  // Empty: as the launcher says.
  std::string token_file;
  bool token_may_come = false;          // The server may have yet to write the token's file.
  std::optional<std::uint32_t> worker;  // Nothing: as the launcher says; the next two as well.
  std::optional<std::uint32_t> workers;
  std::optional<std::uint32_t> incarnation;
  std::uint64_t seed = 1;
  std::string deadline = "60s";
  std::string launcher = launch::kAnyLauncher;
};

// Of the worker of this number, of so many: what computes its gradients, or waits instead. Throws
// Error.
[[nodiscard]] std::unique_ptr<worker::GradientSource> make_source(const WorkOptions& options,
                                                                  std::uint32_t worker,
                                                                  std::uint32_t workers,
                                                                  std::uint64_t seed);

// Works until the run is over. Throws Error.
int work(RoleOptions options);

}  // namespace outpace::cli
