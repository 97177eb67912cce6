#include "admission/evaluators.h"

namespace outpace::admission {

bool Evaluators::come(ConnectionId evaluator) {
  if (served_) {
    next_.push_back(evaluator);
    return false;
  }
  served_ = evaluator;
  comes_ = false;
  return true;
}

bool Evaluators::gone(ConnectionId evaluator) {
  std::erase(next_, evaluator);
  if (served_ != evaluator) {
    return false;
  }
  served_.reset();
  if (!next_.empty()) {
    served_ = next_.front();
    next_.pop_front();
  }
  return true;
}

void Evaluators::dismiss_all() {
  served_.reset();
  next_.clear();
}

}  // namespace outpace::admission
