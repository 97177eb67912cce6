// What needs libtorch, which takes most of a second to load. So there are two programs: `outpace`
// is without it, and becomes `outpace-torch`, which is beside it and has it, where it comes to
// something that needs it. Each links its own definition of what is declared here.

#pragma once

#include <exception>
#include <map>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "run/learner.h"
#include "run/profile_run.h"
#include "runtime_model/deep_weights.h"
#include "runtime_model/trial.h"

namespace outpace::cli {

inline constexpr const char* kLibtorchProgram = "outpace-torch";

// Thrown without libtorch; main() then becomes the program that has it. So it is thrown before
// anything is written, and before anything is read that cannot be read again.
class NeedsLibtorch : public std::exception {
 public:
  explicit NeedsLibtorch(std::string what) : what_(std::move(what)) {}

  // A command, an option or a network.
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

[[nodiscard]] bool has_libtorch();

// Throws NeedsLibtorch, for `what`, where there is none.
void require_libtorch(const std::string& what);

// The commands that need it, by name. Without it: those that can do a part of what they do.
[[nodiscard]] std::map<std::string, AddCommand> libtorch_commands();

// What computes gradients. Each of its functions throws NeedsLibtorch where there is none.
[[nodiscard]] const run::Learner& learner();

// What measures sums between workers, by libtorch's Gloo; empty where there is none.
[[nodiscard]] run::MeasurePeers measure_peers();

// With the defaults of `outpace fit`. `name` is the trace's, for messages. Throws NeedsLibtorch, or
// a usage error if the trace is too short.
[[nodiscard]] runtime_model::DeepWeights fit_to(const std::string& model,
                                                const runtime_model::Trace& trace,
                                                const std::string& name);

}  // namespace outpace::cli
