// The messages between server, workers and evaluator, as plain values.
//
// codec.h converts them to bytes and checks every field of an incoming message, so that messages
// inside the program are well formed. Bulk numbers (weights, gradients) travel beside a message as
// its payload: one flat float32 buffer, little-endian, in the manifest's order.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "base/archive.h"
#include "base/ids.h"
#include "base/time.h"
#include "protocol/control_messages.h"
#include "protocol/limits.h"

namespace outpace::protocol {

// Names, shapes and order of a network's parameters: the layout of the flat buffer.
struct TensorInfo {
  std::string name;
  std::vector<std::uint64_t> shape;  // Every extent >= 1; empty for a scalar.

  [[nodiscard]] std::uint64_t numbers() const;
  void keep(Archive& archive) { archive("name", name)("shape", shape); }
  bool operator==(const TensorInfo&) const = default;
};
struct Manifest {
  std::vector<TensorInfo> tensors;

  [[nodiscard]] std::uint64_t numbers() const;
  // The size of each tensor, in order.
  [[nodiscard]] std::vector<std::size_t> sizes() const;
  bool operator==(const Manifest&) const = default;
};

// Where a network is another one than the job's, in words: "tensor 3 is 'fc2.weight' (10, 64) here,
// and 'fc1.weight' (64, 20) in the job". REQUIRES: they differ.
[[nodiscard]] std::string first_difference(const Manifest& here, const Manifest& job);

// An optimizer that a script hands over to the server, for the parameters of one group; each number
// is finite and at least 0. As in include/outpace/worker.h.
enum class Method : std::uint8_t {
  kSgd,
  kMomentum,
  kNesterov,
  kAdam,
  kAdamW,
  kLamb,
  kYellowFin,
  kAverage,
  kByServer,
  kRmsProp,
  kCenteredRmsProp,
  kAdagrad,
  kAdadelta,
  kNewest,
};
inline constexpr Method kLastMethod = Method::kNewest;
struct ParameterGroup {
  Method method = Method::kSgd;
  double rate = 0.0;
  double weight_decay = 0.0;
  double momentum = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double epsilon = 0.0;
  double rate_decay = 0.0;
  double initial = 0.0;

  void keep(Archive& archive) {
    archive("method", method)("rate", rate)("weight_decay", weight_decay)("momentum", momentum);
    archive("beta1", beta1)("beta2", beta2)("epsilon", epsilon);
    archive("rate_decay", rate_decay)("initial", initial);
  }
  bool operator==(const ParameterGroup&) const = default;
};

// What a worker's script says of its training beside network and data: the same on every worker.
struct Script {
  std::vector<ParameterGroup> groups;   // Empty: it brings no optimizer.
  std::vector<std::uint32_t> group_of;  // By tensor; empty without groups.
  std::uint64_t epochs = 0;             // 0: it does not say.

  void keep(Archive& archive) { archive("groups", groups)("group_of", group_of)("epochs", epochs); }
  bool operator==(const Script&) const = default;
};

// Positions [begin, end) of an epoch's order (or of the sampling stream).
struct Range {
  std::uint64_t epoch;
  std::uint64_t begin;
  std::uint64_t end;

  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};
// Nearly always one. More only at the boundary of epochs, or where examples were given back.
using Ranges = absl::InlinedVector<Range, 1>;

// Identifies a gradient, together with the job: it is applied exactly once or not at all.
struct GradientId {
  std::uint64_t job;         // Drawn by the server at its start.
  std::uint32_t generation;  // The server's: counts its restarts.
  WorkerId worker;
  std::uint32_t incarnation;  // The worker's, as the server counts: how often it came.
  Sequence sequence;          // The release that it answers.

  bool operator==(const GradientId&) const = default;
};

// ---- To the server ----------------------------------------------------------------------------

// A worker's first message.
struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  WorkerId worker;
  // Drawn at random when the process starts. The process has the same number when it connects
  // anew, and no other process has it.
  std::uint64_t process = 0;
  std::string host;  // For people.
  std::uint64_t dataset_examples;
  Manifest manifest;
  // The last release that it had: the server must not fall behind it unseen.
  std::uint64_t seen_job = 0;  // 0: none yet.
  Version seen_version{};
  Script script{};
  bool wants_evaluator = false;   // As AskEvaluator.
  std::uint32_t ahead = 0;        // How many mini-batches it prefetches the examples of.
  bool steps_locally = false;     // It can answer with a phase of local steps,
  std::uint32_t local_steps = 0;  // and makes this many between two pushes; 0: as the job has it.
  // The push whose verdict it has not heard, if it has been of `seen_job`; 0: none.
  Sequence unanswered{};
  // It hands in one gradient for this many workers of its machine, and is leased a mini-batch for
  // each of them.
  std::uint32_t stands_for = 1;

  bool operator==(const Hello&) const = default;
};
// An evaluator's first message: it receives snapshots and answers with measurements.
struct Observe {
  std::uint32_t protocol = kProtocolVersion;
  Manifest manifest;

  bool operator==(const Observe&) const = default;
};
// Answers Welcome::needs_weights. Payload: the weights.
struct InitialWeights {
  bool operator==(const InitialWeights&) const = default;
};
// A part of what the workers' script keeps beside its weights: whatever bytes, which do not change
// while it trains. A worker that is asked for weights sends them before, if it has any. The server
// sends them to each worker before its first release, and to an evaluator before its first
// snapshot. The first part begins at 0, and each one where the one before ended.
struct Constants {
  std::uint64_t begin;
  std::uint64_t whole;  // Bytes of all parts together.
  std::string bytes;    // At least one.

  bool operator==(const Constants&) const = default;
};
// A part of the state that another training's optimizer has left, of one tensor. A worker that is
// asked for weights sends all of them before, if it has any. Payload: a number for each of the
// tensor's weights.
struct OptimizerState {
  std::uint32_t tensor = 0;   // Its place in the manifest.
  std::uint64_t updates = 0;  // Updates that the optimizer made; the same in all parts of a tensor.
  std::string part;           // As update::StatePart's name.

  bool operator==(const OptimizerState&) const = default;
};
// Payload: the mean gradient over the first `examples` examples of the release's ranges, or over
// those of `covers`; or its front, if slices have brought the rest. A phase of local steps pushes
// what its steps over these examples have taken off the weights.
struct Push {
  GradientId id;
  std::uint32_t examples;
  bool partial;
  std::optional<double> loss;  // Mean training loss of the examples; nothing: it is not known.
  double compute_seconds;      // Time of the forward and backward pass, without delays.
  // Tensors that it has no gradient of, by their place in the manifest, ascending: the update
  // leaves them as they are, unless another gradient of it has one.
  std::vector<std::uint32_t> without{};
  // Which of the release's examples it is of, `examples` in all. Empty: the first ones.
  Ranges covers{};
  // As Hello::stands_for, from the next release on; 0: as before.
  std::uint32_t stands_for = 0;

  bool operator==(const Push&) const = default;
};
// A part of a gradient that is final while the backward pass computes the rest. Payload: its
// numbers from `begin` on. The first slice is the end of the gradient, and each one ends where the
// one before began. They count only with the Push of the same sequence, whose payload is what is in
// front of them; an Abandoned discards them.
struct Slice {
  Sequence sequence;    // The release that the gradient answers.
  std::uint64_t begin;  // At least 1: the front comes with the Push.
  std::uint64_t whole;  // Numbers of the gradient.

  bool operator==(const Slice&) const = default;
};
// Why a worker gives a release up.
enum class GivenUp : std::uint8_t {
  kUnwanted,  // It was cancelled and has nothing worth pushing, or its script left its loop.
  kFailed,    // It cannot compute these examples: others try, and then they are left out.
  kLeaveOut,  // Nobody is to compute them: the script wants no mini-batch of this size.
};
struct Abandoned {
  GradientId id;
  GivenUp why = GivenUp::kUnwanted;

  bool operator==(const Abandoned&) const = default;
};
// The groups' learning rates from the script's epoch `epoch` on.
struct Rates {
  std::uint64_t epoch;
  std::vector<double> rates;  // By group; each finite and at least 0.

  void keep(Archive& archive) { archive("epoch", epoch)("rates", rates); }
  bool operator==(const Rates&) const = default;
};
// The worker's script evaluates: a server that can starts an evaluator.
struct AskEvaluator {
  bool operator==(const AskEvaluator&) const = default;
};
struct Heartbeat {
  bool operator==(const Heartbeat&) const = default;
};
struct Goodbye {
  bool operator==(const Goodbye&) const = default;
};
// ---- From the server --------------------------------------------------------------------------

// Comes again before the first release if the server has lost the initial weights, because the
// worker that brought them has left.
struct Welcome {
  std::uint64_t job;
  std::uint32_t generation;
  bool needs_weights;  // Send InitialWeights: the server has none yet.
  Duration heartbeat;  // Send one at least this often.
  std::uint64_t seed;  // For the epochs' orders.
  bool with_replacement;
  std::uint32_t incarnation = 1;  // This worker's from now on: part of its gradients' identity.
  // A release is a phase of local steps (update/local_phase.h), each a mini-batch of
  // Release::nominal examples, by this optimizer; empty: it is one mini-batch.
  std::string inner_optimizer{};
  double inner_weight_decay = 0.0;
  // How a worker packs what it pushes, unless it has been told otherwise: as
  // compress::Compression::name(). Empty: it does not.
  std::string compress{};
  bool counted = false;  // Hello::unanswered was accepted.
  bool above = false;    // Verdicts come once a server above this one has given them.
  // For a run without a server: the run's clock, and whether this worker has nothing, so that
  // others of its group hand it the weights.
  Time now{};
  bool newcomer = false;

  bool operator==(const Welcome&) const = default;
};
// Compute a gradient on the payload, the weights of `version`, over the ranges.
struct Release {
  Sequence sequence;
  Version version;
  std::uint32_t nominal;  // Examples in a full mini-batch.
  // A Cancel may ask for the partial gradient, so compute in a way that yields one.
  bool may_keep_part;
  Time now;  // The run's clock when the message was sent.
  Ranges ranges;
  // The ranges of the worker's next releases, in order, so that it can load their examples. What it
  // computes on them before (steps ahead) is lost if the next release has others: it alone counts.
  std::vector<Ranges> ahead{};
  double inner_rate = 0.0;  // The learning rate of local steps; finite and at least 0.
  bool kept = false;        // The server keeps a checkpoint of this version.

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
  kFenced,        // Another process is this worker: exit 1.
  kFailed,        // The server ended with an error: exit 1.
  kPresumedDead,  // It was silent for too long; it may join again.
};
// The last message on a connection.
struct Stop {
  Farewell how;
  std::string why;

  bool operator==(const Stop&) const = default;
};

// ---- In a run without a server (collective/) --------------------------------------------------

// Where a worker waits for the others of its group.
struct PeerPlace {
  std::vector<std::string> addresses;  // HOST:PORT, the best first.
  // The fingerprint of the authority of its certificate (wire/join_code.h); empty: it has none, and
  // speaks without TLS.
  std::string certificate{};

  bool operator==(const PeerPlace&) const = default;
};
// A worker's answer to Regroup. Unasked, of its present generation: its group is broken.
struct Standing {
  std::uint32_t generation;
  Version version;        // The version of its weights.
  bool newcomer = false;  // It has none: others are to hand it everything.
  PeerPlace place{};

  bool operator==(const Standing&) const = default;
};
// To a worker: leave your group, and say where you stand; the next group has this generation.
struct Regroup {
  std::uint32_t generation;
  std::string key{};  // The members of that group prove it to each other.

  bool operator==(const Regroup&) const = default;
};
// To each member: form this group. Its ranks are the places in `members`.
struct Group {
  std::uint32_t generation;
  Version version;                // All have it, once `behind` got the last update from `ahead`.
  std::vector<WorkerId> members;  // At least one.
  WorkerId ahead{};
  std::vector<WorkerId> behind;
  std::vector<WorkerId> newcomers{};  // `ahead` hands them everything.
  std::vector<PeerPlace> places{};    // One of each member, in their order; empty: nowhere.

  bool operator==(const Group&) const = default;
};

using Message = std::variant<Hello,
                             Observe,
                             InitialWeights,
                             Push,
                             Slice,
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
                             SlowDown,
                             EndRun,
                             AskEvaluated,
                             AskSeats,
                             Expel,
                             AskCode,
                             Evaluated,
                             Answer,
                             Status,
                             Seats,
                             Rates,
                             AskEvaluator,
                             Standing,
                             Regroup,
                             Group,
                             Constants,
                             OptimizerState>;

// What the server sends to a worker that takes part. It makes up most of a run: a variant of these
// three is moved and destroyed in a fraction of the time of a variant of all messages.
using ToWorker = std::variant<Release, Cancel, Verdict>;

}  // namespace outpace::protocol
