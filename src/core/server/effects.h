// What the coordinator asks its driver to do, in order. The driver owns the sockets and the shard;
// driver.h hands each effect to the one that it is for.

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

// The gradient that `worker` pushed last is accepted. `weight` has the staleness rule in it.
struct Accept {
  WorkerId worker;
  Sequence sequence;
  double weight;
  std::uint32_t examples;
};
// The gradient that `worker` pushed last is not accepted.
struct Forget {
  WorkerId worker;
};
// The worker is gone. The shard frees all that it keeps for it.
struct ForgetWorker {
  WorkerId worker;
};
// One optimizer step with all gradients accepted since the last one.
struct StepWeights {
  double rate;         // The schedule and --lr-scale are in it.
  double share = 1.0;  // As in update::Step.
  // If set, the coordinator wants the norms of these gradients, for this version.
  std::optional<Version> norms_for = std::nullopt;
};

// A coordinator that is fed: what was accepted since the last one is handed in as one gradient.
struct HandIn {
  protocol::Ranges covers;      // The examples that it covers,
  std::uint32_t examples = 0;   // and their number; 0: nothing was accepted that counts.
  std::uint32_t gradients = 0;  // How many are summed.
  std::optional<double> loss;   // The mean over its examples, if all of them said theirs.
};

// The norms of an update's gradients, clipped but neither weighted nor corrected.
struct GradientNorms {
  double mean = 0.0;    // The norm of their aggregate.
  double single = 0.0;  // The root mean square of their norms, by their examples.
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
// Sends `stop` to the worker and closes its connection.
struct Disconnect {
  WorkerId worker;
  protocol::Stop stop;
};
// The evaluator gets the weights as they are at this point of the list.
struct TakeSnapshot {
  Version version;
  std::uint64_t examples;
};

// All that decides what comes next (Coordinator::keep, Shard::keep) is to be kept as it is at this
// point of the list. It is the last effect of its list that changes weights or members.
struct TakeCheckpoint {
  Version version;
};

// ---- For people and for the driver's loop -----------------------------------------------------

// The worker takes no part until it answers the release that it is at. Its connection stays.
struct Stalled {
  WorkerId worker;
};
// Another policy decides from this version on.
struct Switched {
  Version version;
  std::uint32_t to;       // As in policy::Switched.
  std::string staleness;  // The rule that weighs its stale gradients.
};
// These examples count as used in their epoch, and are not in the weights.
struct LeaveOut {
  protocol::Ranges ranges;
  std::string why;  // Empty if the script wants it so.
};
struct Warn {
  std::string text;
};
struct Finish {
  ExitCode code;
  std::string why;
};

using Effect = std::variant<Accept,
                            Forget,
                            ForgetWorker,
                            StepWeights,
                            HandIn,
                            Send,
                            Disconnect,
                            TakeSnapshot,
                            TakeCheckpoint,
                            Stalled,
                            Switched,
                            LeaveOut,
                            Warn,
                            Finish>;
using Effects = std::vector<Effect>;

// As emplace_back, but constructs the effect in place: moving one costs time.
template <typename One, typename... Arguments>
void emplace(Effects& out, Arguments&&... arguments) {
  out.emplace_back(std::in_place_type<One>, std::forward<Arguments>(arguments)...);
}

}  // namespace outpace::server
