#include "admission/last_wait.h"

#include <algorithm>
#include <chrono>

namespace outpace::admission {

LastWait last_wait(Time now, const RunEnd& end) {
  constexpr Duration kToAsk = std::chrono::seconds(5);
  const auto patience = std::chrono::seconds(end.interrupted ? 10 : 60);
  const bool asks = !end.measures && end.may_ask;
  const Time deadline = std::max(end.trained, end.asked_at) + (asks ? kToAsk : Duration{patience});
  if ((end.measures || asks) && !end.hurries && now < deadline) {
    return {.until = deadline, .warning = ""};
  }
  if (!end.measures) {
    return {};
  }
  return {.until = std::nullopt,
          .warning = end.hurries
                         ? "the last weights are not measured"
                         : "the evaluator has not measured the last weights in " +
                               std::to_string(patience.count()) + " s: their accuracy is unknown"};
}

}  // namespace outpace::admission
