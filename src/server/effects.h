// What the coordinator asks its driver to do, in order. The driver owns sockets and the shard.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "protocol/messages.h"

namespace outpace::server {

// ---- For the shard: weights and optimizer -----------------------------------------------------

// The gradient that `worker` last pushed counts. `weight` has the staleness rule in it.
struct TakeUp {
  WorkerId worker;
  Sequence sequence;
  double weight;
  std::uint32_t examples;
};
struct Forget {
  WorkerId worker;
};
// The worker is gone, and with it what the shard keeps of it.
struct ForgetWorker {
  WorkerId worker;
};
// One optimizer step with everything taken up.
struct StepWeights {
  double rate;  // Schedule and lr-scale are in it.
  // The coordinator is to be told the gradients' norms, as measured at this version.
  std::optional<Version> norms_for = std::nullopt;
};

// Of an update's gradients, clipped but not weighted or corrected, and of what they came to.
struct GradientNorms {
  double mean = 0.0;    // The norm of the aggregate.
  double single = 0.0;  // The root mean square of the single norms.
  std::uint32_t gradients = 0;
};

// ---- For the network --------------------------------------------------------------------------

// A Release goes out with the weights as they are at this point of the list.
struct Send {
  template <typename Message>
  Send(WorkerId to, Message&& what) : worker(to), message(std::forward<Message>(what)) {}

  WorkerId worker;
  protocol::ToWorker message;
};
// The worker's connection is of no use any more.
struct Disconnect {
  WorkerId worker;
  protocol::Stop stop;
};
// Give the evaluator the weights as they are at this point of the list.
struct TakeSnapshot {
  Version version;
  std::uint64_t examples;
};

// ---- For people and for the driver's loop -----------------------------------------------------

// Another policy decides from this version on.
struct Switched {
  Version version;
  std::uint32_t to;  // As in policy::Switched.
};
struct Warn {
  std::string text;
};
struct Finish {
  ExitCode code;
  std::string why;
};

using Effect = std::variant<TakeUp,
                            Forget,
                            ForgetWorker,
                            StepWeights,
                            Send,
                            Disconnect,
                            TakeSnapshot,
                            Switched,
                            Warn,
                            Finish>;
using Effects = std::vector<Effect>;

// The same as emplace_back, but made where it stays: moving one of these takes its time.
template <typename One, typename... Arguments>
void emplace(Effects& out, Arguments&&... arguments) {
  out.emplace_back(std::in_place_type<One>, std::forward<Arguments>(arguments)...);
}

}  // namespace outpace::server
