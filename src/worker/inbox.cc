#include "worker/inbox.h"

#include <algorithm>
#include <utility>

namespace outpace::worker {

void Inbox::receive(const protocol::Message& message) {
  if (const auto* release = std::get_if<protocol::Release>(&message)) {
    next_ = *release;
    next_cancelled_ = CancelMode::kNone;
  } else if (const auto* cancel = std::get_if<protocol::Cancel>(&message)) {
    const CancelMode mode = cancel->keep_part ? CancelMode::kKeepPart : CancelMode::kAbandon;
    if (next_ && cancel->sequence == next_->sequence) {
      next_cancelled_ = mode;
    } else if (cancel->sequence == current_) {
      cancelled_ = mode;
    }
  } else if (const auto* verdict = std::get_if<protocol::Verdict>(&message)) {
    if (verdict->sequence == current_) {
      verdict_ = *verdict;
    }
  } else if (const auto* stop = std::get_if<protocol::Stop>(&message)) {
    stopped_ = *stop;
  }
}

std::optional<protocol::Release> Inbox::take() {
  if (next_) {
    current_ = next_->sequence;
    cancelled_ = next_cancelled_;
    verdict_.reset();
  }
  return std::exchange(next_, std::nullopt);
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
