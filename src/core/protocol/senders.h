// The messages by sender, for std::visit where those of one sender mean nothing. A new message does
// not compile in any such place until it is in one of these lists or has a function.

#pragma once

#include "base/overloaded.h"
#include "protocol/messages.h"

namespace outpace::protocol {

using IgnoringWorkers = Ignoring<Hello,
                                 InitialWeights,
                                 Push,
                                 Slice,
                                 Abandoned,
                                 Rates,
                                 AskEvaluator,
                                 Heartbeat,
                                 Goodbye,
                                 Standing,
                                 OptimizerState>;
using IgnoringEvaluators = Ignoring<Observe, Measurement>;
// Constants are a worker's, too.
using IgnoringServer = Ignoring<Welcome,
                                Release,
                                Cancel,
                                Verdict,
                                Snapshot,
                                Stop,
                                Answer,
                                Evaluated,
                                Status,
                                Seats,
                                Regroup,
                                Group,
                                Constants>;
// Commands of `outpace ctl`, and what a script asks over a connection of its own.
using IgnoringCommands =
    Ignoring<SetPolicy, AskStatus, SlowDown, EndRun, AskEvaluated, AskSeats, Expel, AskCode>;

}  // namespace outpace::protocol
