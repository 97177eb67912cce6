// A policy decides whether an arriving gradient counts, when the weights move, and who computes
// next. This is the whole contract between policies and their drivers.
//
// Policies are pure state machines: no clock, no I/O, no threads, no randomness but what is in
// their options. A driver (the live server, a simulator, a replay) calls decide() with one event at
// a time and carries the actions out in order, so that all of them run the same code:
//
//   policy.decide(now, event, decision);       // decision is cleared and filled, never reallocated
//   for (const Action& action : decision.actions) carry_out(action);
//
// What holds between the two:
//  1. A worker computes at most one release at a time. Between its WorkerJoined and its
//     WorkerLeft, every release ends in exactly one event: GradientArrived, or ReleaseEnded
//     (abandoned, refused or filtered). If a release is still open when the worker leaves,
//     WorkerLeft ends it too.
//  2. The decision for a GradientArrived holds exactly one Accept or Drop of that gradient.
//  3. Nothing comes from a worker without a release, and a release is given only to a live worker
//     that has none open.
//  4. A Cancel may cross a push: after it the gradient may still arrive, whole or partial.
//  5. Commit needs at least one gradient accepted since the last one.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/time.h"
#include "policy/reason.h"

namespace outpace::policy {

// ---- Events -----------------------------------------------------------------------------------

struct WorkerJoined {
  WorkerId worker;
};

enum class Departure : std::uint8_t {
  kLeft,     // It said so.
  kDead,     // Its connection broke, or its heartbeats stopped.
  kDrained,  // There is no data left for it; it joins again if some comes back.
  kStalled,  // It lives, and was at a release for too long; it joins again when it answers.
};
struct WorkerLeft {
  WorkerId worker;
  Departure how;
};

struct GradientArrived {
  WorkerId worker;
  Sequence release;
  Version computed_on;
  std::uint32_t examples;  // In the gradient; at least 1.
  std::uint32_t nominal;   // In a full mini-batch; examples < nominal if partial or shrunk.
  bool partial;            // The worker was cancelled and pushed the part that it had.
  Duration runtime;        // From the release to the arrival.
};

enum class Ending : std::uint8_t {
  kAbandoned,  // Cancelled with nothing worth pushing.
  kRefused,    // The gradient held a number that is not finite; nothing of it was used.
  kFiltered,   // A filter turned the gradient away; nothing of it was used.
};
// The worker did its work, though nothing came of it.
[[nodiscard]] constexpr bool is_turned_away(Ending how) {
  return how == Ending::kRefused || how == Ending::kFiltered;
}
[[nodiscard]] constexpr Why why_ended(Ending how) {
  return how == Ending::kAbandoned ? Why::kAbandoned
         : how == Ending::kRefused ? Why::kRefused
                                   : Why::kFiltered;
}
struct ReleaseEnded {
  WorkerId worker;
  Sequence release;
  Ending how;
  Duration runtime{};  // As of a gradient that arrived; 0 if it was abandoned, or not recorded.
  // The share of a whole gradient that counts all the same, after `runtime` (hand_ins.h).
  double part = 0.0;
};

struct TimerFired {};

enum class Measure : std::uint8_t {
  kTrainingLoss,
  kTestLoss,
  kTestAccuracy,
  kGradientNorm,        // The norm of the mean that the previous commit took.
  kSingleGradientNorm,  // Root mean square of the norms that went into it; comes before it.
  // 1 if the steps of the optimizer that the workers' script brought are as long whatever the
  // gradient's length is, as adam's, else 0. Comes when they have joined.
  kScaleInvariant,
};
// A lone gradient does not tell its noise. Where updates are of one gradient, both norms are of so
// many updates in a row, and are measured after the last of them.
inline constexpr std::uint32_t kNormGroup = 8;
// How many gradients the norms describe that come after an update of `gradients`.
[[nodiscard]] constexpr std::uint32_t gradients_of_norms(std::uint32_t gradients) {
  return gradients == 1 ? kNormGroup : gradients;
}
struct Measured {
  Measure what;
  double value;
  Version version;
};

// Somebody wants another policy from here on. A Switch (switch.h) follows; the others do not.
struct PolicySet {
  std::string_view policy;  // Its spec, of one that there is. The text lives as long as the call.
};

using Event = std::variant<WorkerJoined,
                           WorkerLeft,
                           GradientArrived,
                           ReleaseEnded,
                           TimerFired,
                           Measured,
                           PolicySet>;

// ---- Actions ----------------------------------------------------------------------------------

// The most that a release may ask for, in full mini-batches.
inline constexpr double kShareMost = 16.0;

// Take the gradient up. `weight` is the policy's own; the server multiplies in the staleness rule.
struct Accept {
  WorkerId worker;
  Sequence release;
  double weight;
};
// Forget the gradient, tell the worker why, and return its examples to the data lease.
struct Drop {
  WorkerId worker;
  Sequence release;
  Why why;
};
// The optimizer takes one step with what was taken up; the version goes up by one.
struct Commit {};
// The worker gets the weights as they are at this point of the stream, and computes.
struct Release {
  WorkerId worker;
  double share = 1.0;  // A full mini-batch's share, in (0, 1]; at least one example is computed.
                       // Beyond 1, up to kShareMost, only where they are balanced (balanced.h).
};
// The worker should abandon what it computes or, with keep_part, push the part it has.
struct Cancel {
  WorkerId worker;
  bool keep_part;
};
// The one timer; a new time replaces the old.
struct WakeAt {
  Time time;
};

// The seam between two policies: from here on another one decides. Nobody computes here, and no
// gradient waits for an update.
struct Switched {
  std::uint32_t to;  // Its place in the switch, from 0; of the spec that was set, if one was.
};

using Action = std::variant<Accept, Drop, Commit, Release, Cancel, WakeAt, Switched>;

struct Decision {
  std::vector<Action> actions;
  Reason reason;

  void clear() {
    actions.clear();
    reason = {};
  }
};

// What a policy expects of the update that it waits for, for people to see. Seconds count from the
// release of a worker; those of the update from its begin.
struct Outlook {
  struct Band {
    WorkerId worker;
    double low;  // Nine in ten runtimes are longer,
    double median;
    double high;  // and nine in ten are shorter.
  };
  std::uint32_t gradients = 0;   // Planned; 0: no plan.
  double seconds = 0.0;          // Until then.
  double seconds_for_all = 0.0;  // Until the gradients of all workers would be there.
  std::vector<Band> bands;       // For the planned workers.
};

// What a policy that chooses among others expects of each, and what came of those that ran, for
// people to see: progress a second, in steps along exact gradients (progress.h).
struct Expectations {
  struct Candidate {
    std::string policy;
    double expected = 0.0;    // The mean over all looks.
    double measured = 0.0;    // The mean over those at which it ran; 0: at none.
    std::uint32_t looks = 0;  // How many these are.
  };
  std::vector<Candidate> of;
  std::uint32_t looks = 0;
  double regret = 0.0;  // The mean share that the one in force was expected to be behind the best.
};

// ---- The policy -------------------------------------------------------------------------------

class Policy {
 public:
  virtual ~Policy() = default;

  // Clears `out`, then fills it. REQUIRES: the order of events given at the top.
  virtual void decide(Time now, const Event& event, Decision& out) = 0;

  // An event of this worker comes soon, or perhaps none: asks the processor for what is known of
  // it. Changes nothing.
  virtual void prepare(WorkerId /*worker*/) const {}

  // Into `out` what it expects. False if it forecasts nothing at present. Changes nothing.
  [[nodiscard]] virtual bool outlook(Outlook& /*out*/) const { return false; }

  // Into `out` what it expects of each candidate. False if it does not choose among several.
  [[nodiscard]] virtual bool expectations(Expectations& /*out*/) const { return false; }

  // What outlasts its workers: with it, a new policy of the same spec decides as this one does once
  // all workers have left, and what they had pushed since the last commit is forgotten.
  virtual void keep(Archive& archive) = 0;

  // A sentence for the user, once, when the live workers do not suit the policy's options; it is
  // asked for after each decision.
  [[nodiscard]] virtual std::optional<std::string> take_warning() { return std::nullopt; }

  // Gradients in a typical update when all of `workers` live: the unit of `--lr-scale`.
  [[nodiscard]] virtual std::uint32_t nominal_cutoff(std::uint32_t workers) const = 0;

  // True if it may Cancel with keep_part: workers then compute so that there is a part.
  [[nodiscard]] virtual bool asks_for_parts() const { return false; }

  // True if an update takes the gradients of one version that came until it was decided, and its
  // workers are told to stop then: what they have could still be in it (hand_ins.h).
  [[nodiscard]] virtual bool cuts_off() const { return false; }

  // For how long what the workers have that its last decision cut off is worth waiting for, in
  // seconds; nothing: as long again as the update took (hand_ins.h).
  [[nodiscard]] virtual std::optional<double> patience() const { return std::nullopt; }
  // The commit of its last decision was held back for this long, for parts to come (hand_ins.h).
  // Its clock stood still meanwhile.
  virtual void held(Duration /*time*/) {}

  // True if it wants to hear the training loss after every update; else nobody tells it.
  [[nodiscard]] virtual bool asks_for_training_loss() const { return false; }
  // True if it wants to hear the gradients' norms after each commit, if there are gradients.
  [[nodiscard]] virtual bool asks_for_norms() const { return false; }
};

}  // namespace outpace::policy
