#include "policy/reason.h"

#include <cmath>
#include <cstdio>

namespace outpace::policy {
namespace {

// Counts in full, shares and weights to three digits.
std::string shortest(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, std::trunc(value) == value ? "%.0f" : "%.3g", value);
  return buffer;
}

// What stands around the two numbers: "cutoff reached" + ": " + a + " of " + b + " live".
struct Words {
  const char* before_a;
  const char* before_b;  // Null if the reason has no second number.
  const char* end;
};

Words words_around(Why why) {
  switch (why) {
    case Why::kJoined:
    case Why::kLeft:
      return {.before_a = ": ", .before_b = nullptr, .end = " live"};
    case Why::kWaiting:
      return {.before_a = ": ", .before_b = " of ", .end = ""};
    case Why::kCutoffReached:
      return {.before_a = ": ", .before_b = " of ", .end = " live"};
    case Why::kWaitedEnough:
      return {.before_a = ": ", .before_b = " came, ", .end = " expected"};
    case Why::kAfterCutoff:
    case Why::kEachCounts:
      return {.before_a = ": staleness ", .before_b = nullptr, .end = ""};
    case Why::kCutoffChosen:
      return {.before_a = ": ", .before_b = ", loss ", .end = ""};
    case Why::kTooFarAhead:
      return {.before_a = ": clock ", .before_b = ", least ", .end = ""};
    case Why::kSampleBehind:
      return {.before_a = ": clock ", .before_b = ", ", .end = " of its sample"};
    case Why::kBoundRaised:
      return {.before_a = ": ahead ", .before_b = ", bound ", .end = ""};
    case Why::kCaughtUp:
      return {.before_a = ": least clock ", .before_b = ", ", .end = " let go"};
    case Why::kTooStale:
      return {.before_a = ": staleness ", .before_b = ", bound ", .end = ""};
    case Why::kStragglerCancelled:
      return {.before_a = ": lag ", .before_b = ", bound ", .end = ""};
    case Why::kStragglerShrunk:
      return {.before_a = ": lag ", .before_b = ", share ", .end = ""};
    case Why::kStragglerDampened:
      return {.before_a = ": staleness ", .before_b = ", weight ", .end = ""};
    case Why::kSwitching:
      return {.before_a = ": ", .before_b = nullptr, .end = " still compute"};
    case Why::kMoreExpected:
    case Why::kTried:
    case Why::kLossRose:
      return {.before_a = ": ", .before_b = " exact steps a second, then ", .end = ""};
    case Why::kSwitched:
      return {.before_a = " at version ", .before_b = ": ", .end = " live"};
    case Why::kNone:
    case Why::kAbandoned:
    case Why::kRefused:
    case Why::kFiltered:
    case Why::kFinished:
      break;
  }
  return {.before_a = nullptr, .before_b = nullptr, .end = ""};
}

}  // namespace

std::string to_words(const Reason& reason) {
  const Words words = words_around(reason.why);
  std::string text = to_words(reason.why);
  if (words.before_a != nullptr) {
    text += words.before_a + shortest(reason.a);
  }
  if (words.before_b != nullptr) {
    text += words.before_b + shortest(reason.b);
  }
  return text + words.end;
}

bool says_another_follows(std::string_view words) {
  return words.starts_with(to_words(Why::kMoreExpected)) ||
         words.starts_with(to_words(Why::kTried)) || words.starts_with(to_words(Why::kLossRose));
}

std::string to_words(Why why) {
  switch (why) {
    case Why::kNone:
      return "nothing changed";
    case Why::kJoined:
      return "joined";
    case Why::kLeft:
      return "left";
    case Why::kWaiting:
      return "waiting";
    case Why::kCutoffReached:
      return "cutoff reached";
    case Why::kWaitedEnough:
      return "waited long enough";
    case Why::kAfterCutoff:
      return "after the cutoff";
    case Why::kEachCounts:
      return "each gradient counts";
    case Why::kCutoffChosen:
      return "cutoff chosen";
    case Why::kTooFarAhead:
      return "too far ahead";
    case Why::kSampleBehind:
      return "ahead of its sample";
    case Why::kBoundRaised:
      return "bound raised";
    case Why::kCaughtUp:
      return "caught up";
    case Why::kTooStale:
      return "too stale";
    case Why::kStragglerCancelled:
      return "straggler cancelled";
    case Why::kStragglerShrunk:
      return "straggler shrunk";
    case Why::kStragglerDampened:
      return "straggler dampened";
    case Why::kAbandoned:
      return "mini-batch abandoned";
    case Why::kSwitching:
      return "policy changes";
    case Why::kMoreExpected:
      return "more progress expected";
    case Why::kTried:
      return "another policy is tried";
    case Why::kLossRose:
      return "training loss rose";
    case Why::kSwitched:
      return "policy changed";
    case Why::kRefused:
      return "gradient not finite";
    case Why::kFiltered:
      return "gradient filtered";
    case Why::kFinished:
      return "run finished";
  }
  return "unknown";
}

}  // namespace outpace::policy
