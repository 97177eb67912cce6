// What needs libtorch, which takes most of a second to load. So there are two programs: `outpace`
// is without it, and becomes `outpace-torch`, which is beside it and has it, where it comes to
// something that needs it. Each links its own definition of what is declared here.

#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/spec.h"
#include "cli/commands.h"
#include "protocol/messages.h"
#include "runtime_model/deep_weights.h"
#include "runtime_model/trial.h"
#include "worker/gradient_source.h"

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

// Of the commands that need it, by name. Without it: those that can do a part of what they do.
[[nodiscard]] std::map<std::string, AddCommand> libtorch_commands();

// All below begin with require_libtorch().

struct Lesson {
  Spec network;
  Spec data;
  std::uint64_t seed;
  std::uint32_t threads = 1;
};
// Throw a usage error for an unknown network or data set.
[[nodiscard]] std::unique_ptr<worker::GradientSource> make_gradients(const Lesson& lesson);
[[nodiscard]] std::unique_ptr<worker::Evaluator> make_evaluator(const Lesson& lesson);

// Of the network for that data, without loading it. Throws a usage error as well.
[[nodiscard]] protocol::Manifest learnt_manifest(const Spec& network, const Spec& data);

// With the defaults of `outpace fit`. `name` is the trace's, for messages. Throws a usage error if
// the trace is too short.
[[nodiscard]] runtime_model::DeepWeights fit_to(const runtime_model::Trace& trace,
                                                const std::string& name);

// The long names of `outpace train`.
[[nodiscard]] std::vector<std::string> train_options();

// Throws what train with these options would throw before it begins. Neither environment nor
// --config count.
void check_train(const std::vector<std::string>& words);

}  // namespace outpace::cli
