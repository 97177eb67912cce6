#include "admission/awaited.h"

namespace outpace::admission {
namespace {

std::string in_words(const Missing& missing) {
  const bool one = missing.workers == 1;
  std::string text = "the run has not begun: " + std::to_string(missing.there) + " of " +
                     std::to_string(missing.workers) + (one ? " worker is" : " workers are") +
                     " there";
  if (missing.there > 0 && missing.weights) {
    text += ", and the first weights are not";
  }
  if (missing.evaluator) {
    text += "; it waits for the evaluator";
  }
  return text;
}

}  // namespace

std::string Awaited::say(Time now, const Missing& missing) {
  if (now < next()) {
    return "";
  }
  looked_at_ = now;
  std::string text = in_words(missing);
  if (text == said_ && now - said_at_ < kAgain) {
    return "";
  }
  said_ = text;
  said_at_ = now;
  return text;
}

}  // namespace outpace::admission
