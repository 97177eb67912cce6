#include "worker/inbox.h"

#include <algorithm>
#include <utility>

#include "protocol/senders.h"

namespace outpace::worker {

void Inbox::receive(const protocol::Message& message) {
  std::visit(Overloaded{[this](const protocol::Release& release) { receive(release); },
                        [this](const protocol::Cancel& cancel) { receive(cancel); },
                        [this](const protocol::Verdict& verdict) { receive(verdict); },
                        [this](const protocol::Stop& stop) { stopped_ = stop; },
                        protocol::IgnoringServer{},
                        protocol::IgnoringWorkers{},
                        protocol::IgnoringEvaluators{},
                        protocol::IgnoringCommands{}},
             message);
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
