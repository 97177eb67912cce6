// What the admission asks its driver to do, in order. driver.h hands each effect to the driver's
// function for it.

#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/connection_id.h"
#include "base/error.h"
#include "base/ids.h"
#include "policy/policy.h"
#include "protocol/messages.h"
#include "server/coordinator.h"

namespace outpace::admission {

// ---- For the peer -------------------------------------------------------------------------------

// The worker is one of the job from now on. It is welcomed, and may send payloads of this network.
struct Accept {
  ConnectionId peer;
  WorkerId worker;
  std::uint32_t incarnation;
  bool needs_weights;
  Sequence unanswered{};  // As its hello has it.
};
// It is welcomed again, because the first weights are needed after all.
struct Welcome {
  ConnectionId peer;
  std::uint32_t incarnation;
  bool needs_weights;
};
// `stop` is the last message; then the connection is closed.
struct Refuse {
  ConnectionId peer;
  protocol::Stop stop;
};
// The connection is closed without a word: the worker waits for the server that goes on.
struct HangUp {
  ConnectionId peer;
};

// ---- For the coordinator and the shard ----------------------------------------------------------

// All is there that a coordinator needs: the driver makes it.
struct Open {};
// What the run would have begun with has left: the driver drops the coordinator.
struct Reset {};
// These join the coordinator, in order.
struct Join {
  struct Worker {
    ConnectionId peer;
    server::Newcomer newcomer;
    bool has_constants;  // From an earlier connection: they are not sent again.
  };
  std::vector<Worker> workers;
};
// The worker leaves the coordinator. `news` is for people; it is not said if the run ends with it.
struct Leave {
  WorkerId worker;
  std::uint32_t incarnation;
  policy::Departure how;
  std::string news;
};
// The workers' script is another one from now on, or none (Terms::script).
struct ScriptChanged {
  bool groups;  // Other parameter groups, too: other optimizers step the weights.
};
// The first weights count no more, and what came with them.
struct ForgetWeights {};

// ---- For the evaluator --------------------------------------------------------------------------

// This evaluator is served from now on.
struct Serve {
  ConnectionId peer;
};
// The evaluator is gone, and with it what it had not answered.
struct EvaluatorLost {};
// The evaluator is sent the final weights, if it has not measured them yet.
struct MeasureLast {};
// A worker's script evaluates: the driver starts an evaluator.
struct StartEvaluator {};

// ---- For people and for the driver's loop -------------------------------------------------------

struct Warn {
  std::string text;
};
// The run has not begun; what it waits for.
struct Awaits {
  std::string text;
};
// The run ends before it has begun.
struct End {
  ExitCode code;
  std::string why;
};

using Effect = std::variant<Accept,
                            Welcome,
                            Refuse,
                            HangUp,
                            Open,
                            Reset,
                            Join,
                            Leave,
                            ScriptChanged,
                            ForgetWeights,
                            Serve,
                            EvaluatorLost,
                            MeasureLast,
                            StartEvaluator,
                            Warn,
                            Awaits,
                            End>;
using Effects = std::vector<Effect>;

}  // namespace outpace::admission
