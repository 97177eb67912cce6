// The messages between a job and a person, a script or a machine that joins, and what an evaluator
// found. A part of messages.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "protocol/limits.h"

namespace outpace::protocol {

// What else an evaluator measured, by the script's name for it; finite.
struct NamedValue {
  std::string name;
  double value = 0.0;

  void keep(Archive& archive) { archive("name", name)("value", value); }
  bool operator==(const NamedValue&) const = default;
};
struct Measurement {
  Version version;
  std::optional<double> accuracy;  // On the test set, in [0, 1]. Nothing: it was not measured.
  std::optional<double> loss;      // As accuracy.
  std::vector<NamedValue> values{};

  bool operator==(const Measurement&) const = default;
};

// ---- To the server ----------------------------------------------------------------------------

// A person's request to a running job. It is the first message of a connection of its own and has
// one answer.
struct SetPolicy {
  std::uint32_t protocol = kProtocolVersion;
  std::string policy;  // Its spec.

  bool operator==(const SetPolicy&) const = default;
};
struct AskStatus {
  std::uint32_t protocol = kProtocolVersion;

  bool operator==(const AskStatus&) const = default;
};

// To the server, and by it to the worker: from now on it takes this many times as long for its
// mini-batches, until it joins again.
struct SlowDown {
  std::uint32_t protocol = kProtocolVersion;
  WorkerId worker{};
  double factor = 1.0;  // From 1 to kSlowDownMost.

  bool operator==(const SlowDown&) const = default;
};
inline constexpr double kSlowDownMost = 1e3;

// A worker's script sends it, over a connection of its own, because the worker may have left
// before. With a reason the run ends now, as the script wants. Without one this worker's loop has
// ended as its script wants; once all have left, that is the end of the run.
struct EndRun {
  std::uint32_t protocol = kProtocolVersion;
  std::string why;

  bool operator==(const EndRun&) const = default;
};
// What the evaluator has found for this epoch of the script: the same for every worker that asks.
// Also over a connection of its own.
struct AskEvaluated {
  std::uint32_t protocol = kProtocolVersion;
  std::uint64_t epoch = 0;

  bool operator==(const AskEvaluated&) const = default;
};

// From `outpace join`, over a connection of its own, which stays: under which numbers do the
// workers of this machine take part? Asked again over another connection, the same pass has the
// same numbers.
struct AskSeats {
  std::uint32_t protocol = kProtocolVersion;
  std::string host;           // For people.
  std::uint32_t workers = 1;  // At least 1.

  bool operator==(const AskSeats&) const = default;
};
// A person's requests, as SetPolicy. To send a worker away, and shut out the pass that it came by:
struct Expel {
  std::uint32_t protocol = kProtocolVersion;
  WorkerId worker{};

  bool operator==(const Expel&) const = default;
};
// For the code by which machines join; `renew`: for a new one, after which no other counts.
struct AskCode {
  std::uint32_t protocol = kProtocolVersion;
  bool renew = false;

  bool operator==(const AskCode&) const = default;
};

// ---- From the server --------------------------------------------------------------------------

// To a person: the request was carried out, or the reason why not.
struct Answer {
  ExitCode code;  // For the program that asked.
  std::string text;

  bool operator==(const Answer&) const = default;
};
// The answer to AskEvaluated.
struct Evaluated {
  bool comes = false;  // There will be one: ask again.
  std::optional<Measurement> found;

  bool operator==(const Evaluated&) const = default;
};
struct Status {
  std::string policy;  // The policy that decides at present.
  // The policy that was set and takes over when the present one's last mini-batches end; otherwise
  // empty.
  std::string coming;
  Version version;
  std::uint32_t live;
  std::uint32_t workers;                // Planned.
  double staleness_mean;                // The mean over all gradients so far.
  std::optional<double> training_loss;  // As in summary.json.
  Time now;                             // The run's clock.
  std::string stalled;                  // Workers by name, for people; empty if none is.
  std::string staleness;                // The rule in force, by name.
  // For each of the asker's workers, in order.
  struct Seat {
    WorkerId worker{};
    bool live = false;
    std::uint64_t answered = 0;  // Mini-batches that it has computed,
    std::uint64_t counted = 0;   // and those of them that are in an update.

    bool operator==(const Seat&) const = default;
  };
  std::vector<Seat> seats{};

  bool operator==(const Status&) const = default;
};

// The answer to AskSeats, and what the workers are told by variables. A Status follows each second,
// and at the end of the run a Stop.
struct Seats {
  std::vector<WorkerId> workers;
  std::uint32_t planned = 0;      // Workers of the run.
  std::uint32_t gradients = 1;    // An update has as many, if all are there.
  std::uint32_t batch = 1;        // The run's --batch.
  std::uint32_t local_steps = 0;  // 0: a push for each mini-batch.
  bool steps_ahead = false;
  // A run without a server: what `outpace peer` is told, as TOML. Empty: the asker has a command.
  std::string settings{};

  bool operator==(const Seats&) const = default;
};

}  // namespace outpace::protocol
