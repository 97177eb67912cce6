#include "live/leaving.h"

#include <csignal>
#include <utility>

#include <unistd.h>

namespace outpace::live {

using worker::CancelMode;

void Leaving::ask(int signal) {
  const std::lock_guard lock(mutex_);
  if (signal_ != 0) {
    return;
  }
  signal_ = signal;
  how_ = CancelMode::kKeepPart;  // Also for a session that is made later.
  if (!give_up_) {
    end_as_it_is();
    return;
  }
  tell();
  clock_ = std::jthread([this](const std::stop_token& stop) { run_out_of_time(stop); });
}

bool Leaving::asked() const {
  const std::lock_guard lock(mutex_);
  return signal_ != 0;
}

int Leaving::exit_code() const {
  return signal_ == SIGTERM ? 0 : 128 + signal_;
}

void Leaving::on_ask(std::function<void(CancelMode)> give_up) {
  const std::lock_guard lock(mutex_);
  give_up_ = std::move(give_up);
  if (signal_ != 0) {
    tell();
  }
}

void Leaving::run_out_of_time(const std::stop_token& stop) {
  const auto never = [] { return false; };
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, stop, options_.to_finish_part, never);
  if (stop.stop_requested()) {
    return;
  }
  how_ = CancelMode::kAbandon;
  tell();
  stopped_.wait_for(lock, stop, options_.to_hand_back, never);
  if (!stop.stop_requested()) {
    end_as_it_is();
  }
}

void Leaving::tell() const {
  if (give_up_) {
    give_up_(how_);
  }
}

void Leaving::end_as_it_is() const {
  if (options_.end_as_it_is) {
    options_.end_as_it_is(exit_code());
  } else {
    _exit(exit_code());
  }
}

}  // namespace outpace::live
