#include "worker/inbox.h"

#include <algorithm>
#include <utility>

namespace outpace::worker {

void Inbox::receive(const protocol::Message& message) {
  if (const auto* release = std::get_if<protocol::Release>(&message)) {
    receive(*release);
  } else if (const auto* cancel = std::get_if<protocol::Cancel>(&message)) {
    receive(*cancel);
  } else if (const auto* verdict = std::get_if<protocol::Verdict>(&message)) {
    receive(*verdict);
  } else if (const auto* stop = std::get_if<protocol::Stop>(&message)) {
    stopped_ = *stop;
  }
}

void Inbox::receive(const protocol::Release& release) {
  newest_.emplace(release);  // Assigning its ranges would take longer.
  waiting_ = true;
  next_cancelled_ = CancelMode::kNone;
}

void Inbox::receive(const protocol::Cancel& cancel) {
  const CancelMode mode = cancel.keep_part ? CancelMode::kKeepPart : CancelMode::kAbandon;
  if (waiting_ && cancel.sequence == newest_->sequence) {
    next_cancelled_ = mode;
  } else if (cancel.sequence == current_) {
    cancelled_ = mode;
  }
}

void Inbox::receive(const protocol::Verdict& verdict) {
  if (verdict.sequence == current_) {
    verdict_ = verdict;
  }
}

bool Inbox::take() {
  if (!waiting_) {
    return false;
  }
  waiting_ = false;
  current_ = newest_->sequence;
  cancelled_ = next_cancelled_;
  verdict_.reset();
  return true;
}

void MicroBatch::had_no_part() {
  size_ = std::max(1U, size_ / 2);
  whole_in_a_row_ = 0;
}

void MicroBatch::was_whole() {
  constexpr std::uint32_t kPatience = 8;
  if (++whole_in_a_row_ == kPatience) {
    size_ = std::min(nominal_, 2 * size_);
    whole_in_a_row_ = 0;
  }
}

}  // namespace outpace::worker
