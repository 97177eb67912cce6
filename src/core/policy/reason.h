// Why a policy decided as it did: an enumerator and two numbers, which become words only when
// recorded or shown, so that millions of decisions a second allocate nothing.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace outpace::policy {

enum class Why : std::uint8_t {
  kNone,           // Nothing to explain: an event that changed nothing.
  kJoined,         // a: live workers.
  kLeft,           // a: live workers.
  kWaiting,        // a: gradients taken up, b: the cutoff.
  kCutoffReached,  // a: gradients taken up, b: live workers.
  kWaitedEnough,   // a: gradients taken up, b: how many were expected by the best time to stop.
  kAfterCutoff,    // a: staleness of the late gradient. The gradient came after its update.
  kEachCounts,     // a: staleness. Every gradient is an update of its own.
  kCutoffChosen,   // a: the new cutoff, b: the loss that it follows from.
  kTooFarAhead,    // a: the worker's clock, b: the least clock. SSP holds the worker.
  kSampleBehind,   // a: the worker's clock, b: how many of its sample are behind. PSP holds it.
  kCaughtUp,       // a: the least clock, b: workers let go. SSP lets the held go on.
  kBoundRaised,    // a: the worker's clock, b: iterations that DSSP gives it beyond the bound.
  kTooStale,       // a: staleness, b: the bound. SaPS drops the gradient.
  kStragglerCancelled,  // a: lag, b: the bound. SaPS asks for the part that is done, or for none.
  kStragglerShrunk,     // a: lag, b: the new share of a mini-batch.
  kStragglerDampened,   // a: staleness, b: the weight.
  kAbandoned,           // The worker gave its mini-batch up when asked to.
  kSwitching,           // a: workers that still compute. The policy changes when they are done.
  kMoreExpected,        // a: progress expected a second, b: the same of the policy that follows.
  kTried,               // The same, but the one that follows is tried to see what comes of it.
  kLossRose,            // The same, after the training loss rose.
  kSwitched,            // a: the version, b: live workers. From here on another policy decides.
  kRefused,             // The gradient held a number that is not finite.
  kFiltered,            // A filter turned the gradient away.
  kFinished,            // The run is over; only the server itself says this.
};

struct Reason {
  Why why = Why::kNone;
  double a = 0.0;
  double b = 0.0;
};

// A short lower-case phrase for people and for the record: "cutoff reached: 6 of 8 live".
[[nodiscard]] std::string to_words(const Reason& reason);
// True of the words of kMoreExpected, kTried and kLossRose.
[[nodiscard]] bool says_another_follows(std::string_view words);
// The phrase without numbers: "cutoff reached".
[[nodiscard]] std::string to_words(Why why);

}  // namespace outpace::policy
