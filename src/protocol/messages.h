// What server, workers and evaluator say to each other, as plain values.
//
// codec.h turns them into bytes and checks every field on the way in; past it they are well formed.
// Bulk numbers (weights, gradients) travel beside a message as its payload: one flat float32
// buffer, little-endian, in the manifest's order.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"

namespace outpace::protocol {

// Peers with another number are refused with exit code 4.
inline constexpr std::uint32_t kProtocolVersion = 1;

// Limits, checked when a message is read and before anything is allocated for it.
inline constexpr std::uint32_t kWorkersMax = 65'536;
inline constexpr std::uint32_t kTensorsMax = 65'536;
inline constexpr std::uint32_t kTensorRankMax = 16;
inline constexpr std::uint64_t kWeightsMax = std::uint64_t{1} << 32U;  // Numbers: 16 GiB.
inline constexpr std::size_t kTextMax = 1024;
inline constexpr std::size_t kRangesMax = 4096;
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;  // Of a payload, per frame.
inline constexpr std::size_t kFrameBytesMax = 8 * kChunkBytes;
// A packet that does not fit is refused by the transport while it is being read.
inline constexpr std::size_t kPacketBytesMax = kFrameBytesMax + 8;  // With the head of a frame.

// Names, shapes and order of a network's parameters: what the flat buffer means.
struct TensorInfo {
  std::string name;
  std::vector<std::uint64_t> shape;  // Every extent >= 1; empty for a scalar.

  [[nodiscard]] std::uint64_t numbers() const;
  bool operator==(const TensorInfo&) const = default;
};
struct Manifest {
  std::vector<TensorInfo> tensors;

  [[nodiscard]] std::uint64_t numbers() const;
  // Of each tensor, in order: where in the flat buffer one ends and the next begins.
  [[nodiscard]] std::vector<std::size_t> sizes() const;
  bool operator==(const Manifest&) const = default;
};

// Positions [begin, end) of an epoch's order (or of the sampling stream).
struct Range {
  std::uint64_t epoch;
  std::uint64_t begin;
  std::uint64_t end;

  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};
// Nearly always one: more only at an epoch's seam, or where examples were given back.
using Ranges = absl::InlinedVector<Range, 1>;

// The identity of a gradient, with the job: applied exactly once or not at all.
struct GradientId {
  std::uint64_t job;         // Drawn by the server at its start.
  std::uint32_t generation;  // Of the server: counts its restarts.
  WorkerId worker;
  std::uint32_t incarnation;  // Of the worker: counts its restarts.
  Sequence sequence;          // Of the release that it answers.

  bool operator==(const GradientId&) const = default;
};

// ---- To the server ----------------------------------------------------------------------------

// A worker's first message.
struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  WorkerId worker;
  std::uint32_t incarnation;
  std::string host;  // For people.
  std::uint64_t dataset_examples;
  Manifest manifest;

  bool operator==(const Hello&) const = default;
};
// An evaluator's first message: it gets snapshots and answers with measurements.
struct Observe {
  std::uint32_t protocol = kProtocolVersion;
  Manifest manifest;

  bool operator==(const Observe&) const = default;
};
// Answers Welcome::needs_weights. Payload: the weights.
struct InitialWeights {
  bool operator==(const InitialWeights&) const = default;
};
// Payload: the mean gradient over `examples` examples, the prefix of the release's ranges.
struct Push {
  GradientId id;
  std::uint32_t examples;
  bool partial;
  double loss;             // Mean training loss of the examples.
  double compute_seconds;  // Of the forward and backward pass alone, delays excluded.

  bool operator==(const Push&) const = default;
};
// The worker gave the release up: cancelled with nothing worth pushing.
struct Abandoned {
  GradientId id;

  bool operator==(const Abandoned&) const = default;
};
struct Heartbeat {
  bool operator==(const Heartbeat&) const = default;
};
struct Goodbye {
  bool operator==(const Goodbye&) const = default;
};
struct Measurement {
  Version version;
  double accuracy;  // On the test set, in [0, 1].
  double loss;

  bool operator==(const Measurement&) const = default;
};

// What a person asks of a job that runs, on a connection of its own: each is its first message, and
// has one answer.
struct SetPolicy {
  std::uint32_t protocol = kProtocolVersion;
  std::string policy;  // Its spec.

  bool operator==(const SetPolicy&) const = default;
};
struct AskStatus {
  std::uint32_t protocol = kProtocolVersion;

  bool operator==(const AskStatus&) const = default;
};

// ---- From the server --------------------------------------------------------------------------

struct Welcome {
  std::uint64_t job;
  std::uint32_t generation;
  bool needs_weights;  // Send InitialWeights: there are none yet.
  Duration heartbeat;  // Send one at least this often.
  std::uint64_t seed;  // Of the epochs' orders.
  bool with_replacement;

  bool operator==(const Welcome&) const = default;
};
// Compute a gradient on the payload, the weights of `version`, over the ranges.
struct Release {
  Sequence sequence;
  Version version;
  std::uint32_t nominal;  // Examples in a full mini-batch.
  bool may_keep_part;     // A Cancel may ask for the part: compute so that there is one.
  Time now;               // The run's clock at the sending.
  Ranges ranges;

  bool operator==(const Release&) const = default;
};
struct Cancel {
  Sequence sequence;
  bool keep_part;

  bool operator==(const Cancel&) const = default;
};
enum class Outcome : std::uint8_t { kAccepted, kDropped, kRefused };
struct Verdict {
  Sequence sequence;
  Outcome outcome;
  std::optional<std::string> why;  // For people; nothing if accepted.

  bool operator==(const Verdict&) const = default;
};
// To an evaluator. Payload: the weights.
struct Snapshot {
  Version version;

  bool operator==(const Snapshot&) const = default;
};
enum class Farewell : std::uint8_t {
  kFinished,      // The run is over: exit 0.
  kIncompatible,  // Another protocol or manifest: exit 4.
  kFenced,        // A newer incarnation of the same worker has joined: exit 1.
  kFailed,        // The server gave up: exit 1.
  kPresumedDead,  // It was silent for too long; it may join again as a newer incarnation.
};
// The last message on a connection.
struct Stop {
  Farewell how;
  std::string why;

  bool operator==(const Stop&) const = default;
};

// To a person: what was asked for is done, or why not.
struct Answer {
  ExitCode code;  // Of the program that asked.
  std::string text;

  bool operator==(const Answer&) const = default;
};
struct Status {
  std::string policy;  // That decides at present.
  std::string coming;  // That was set, while the present one's last mini-batches end; else empty.
  Version version;
  std::uint32_t live;
  std::uint32_t workers;  // Planned.
  double staleness_mean;  // Of all gradients so far.
  double training_loss;   // As in summary.json.
  Time now;               // The run's clock.

  bool operator==(const Status&) const = default;
};

using Message = std::variant<Hello,
                             Observe,
                             InitialWeights,
                             Push,
                             Abandoned,
                             Heartbeat,
                             Goodbye,
                             Measurement,
                             Welcome,
                             Release,
                             Cancel,
                             Verdict,
                             Snapshot,
                             Stop,
                             SetPolicy,
                             AskStatus,
                             Answer,
                             Status>;

// What the server tells a worker that takes part. Runs are made of it: a variant of these three is
// moved and destroyed in a fraction of the time that one of all messages takes.
using ToWorker = std::variant<Release, Cancel, Verdict>;

}  // namespace outpace::protocol
