#include "live/above.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace outpace::live {

using worker::CancelMode;

Above::Above(WorkerOptions options, std::function<void(News)> tell)
    : options_(std::move(options)),
      tell_(std::move(tell)),
      leaving_({.end_as_it_is = [](int /*code*/) {}}) {
  options_.session.leaving = &leaving_;
  options_.session.stops_joining = true;
  options_.session.welcomed = [this](const protocol::Welcome& welcome) {
    tell_(Welcomed{welcome});
  };
  options_.session.came = [this] { wake(); };
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Above::~Above() {
  thread_.request_stop();
  leaving_.ask(SIGTERM);  // The session's wait ends.
}

// ---- From any thread ----------------------------------------------------------------------------

void Above::wake() {
  { const std::lock_guard lock(mutex_); }  // A thread that waits has looked, or will.
  changed_.notify_all();
}

void Above::greet(Offer offer) {
  {
    const std::lock_guard lock(mutex_);
    if (offer_) {
      return;
    }
    offer_ = std::move(offer);
    here_ = std::max(here_, 1U);
  }
  changed_.notify_all();
}

void Above::set_here(std::uint32_t workers) {
  {
    const std::lock_guard lock(mutex_);
    here_ = workers;
  }
  changed_.notify_all();
}

void Above::bring(BroughtWeights brought) {
  {
    const std::lock_guard lock(mutex_);
    brought_ = std::move(brought);
  }
  changed_.notify_all();
}

void Above::hand_in(std::uint64_t number,
                    const WorkerSession::Result& result,
                    std::vector<float> gradient) {
  {
    const std::lock_guard lock(mutex_);
    if (number != number_ || !open_) {
      return;  // It has been cancelled.
    }
    answer_ = HandedIn{result, std::move(gradient)};
  }
  changed_.notify_all();
}

void Above::give_up(std::uint64_t number, protocol::GivenUp why) {
  {
    const std::lock_guard lock(mutex_);
    if (number != number_ || !open_) {
      return;
    }
    answer_ = why;
  }
  changed_.notify_all();
}

void Above::tell_rates(const protocol::Rates& rates) {
  const std::lock_guard lock(mutex_);
  rates_ = rates;
}

void Above::ask_for_evaluator() {
  const std::lock_guard lock(mutex_);
  wants_evaluator_ = true;
}

// ---- The thread ---------------------------------------------------------------------------------

void Above::work(const std::stop_token& stop) {
  try {
    bool goes_on = true;
    while (goes_on && !stop.stop_requested()) {
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return offer_ && here_ > 0; })) {
          return;
        }
      }
      goes_on = take_part(stop);
    }
  } catch (const Error& error) {
    tell_(Over{error.code(), error.what()});
  }
}

bool Above::take_part(const std::stop_token& stop) {
  LastingSession session(options_, offer());
  bool told_constants = false;
  while (auto task = session.next()) {
    {
      const std::lock_guard lock(mutex_);
      if (here_ == 0) {
        session.session().leave();  // What was released goes to others.
        return true;
      }
    }
    if (!std::exchange(told_constants, true) && !session.constants().empty()) {
      tell_(CameConstants{session.constants()});
    }
    answer(session, *std::move(task));
  }
  if (stop.stop_requested()) {
    session.session().leave();
    return false;
  }
  tell_(Over{ExitCode::kDone, "the run of the server above is over"});
  return false;
}

void Above::answer(LastingSession& lasting, LastingSession::Task task) {
  WorkerSession& session = lasting.session();
  std::vector<float> weights = session.take(std::move(task.work.weights));
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++number_;
    open_ = true;
    answer_.reset();
  }
  say_what_waits(session);
  tell_(Released{number, std::move(task.work.release), std::move(weights)});
  std::unique_lock lock(mutex_);
  CancelMode known = CancelMode::kNone;
  const std::stop_token stop = thread_.get_stop_token();
  while (!answer_ && session.cancelled() != CancelMode::kAbandon && !stop.stop_requested()) {
    if (session.cancelled() == CancelMode::kKeepPart &&
        std::exchange(known, CancelMode::kKeepPart) == CancelMode::kNone) {
      lock.unlock();
      tell_(Closing{.keep_part = true});
      lock.lock();
      continue;
    }
    changed_.wait(lock, stop, [&] { return answer_ || session.cancelled() != known; });
  }
  open_ = false;
  std::optional<Answer> answer = std::exchange(answer_, std::nullopt);
  lock.unlock();
  if (!answer) {
    tell_(Closing{.keep_part = false});
    session.abandon();
  } else if (auto* handed = std::get_if<HandedIn>(&*answer)) {
    say_what_waits(session);
    tell_(Judged{session.push(handed->result, std::move(handed->gradient))});
  } else {
    session.abandon(std::get<protocol::GivenUp>(*answer));
  }
}

void Above::say_what_waits(WorkerSession& session) {
  std::unique_lock lock(mutex_);
  const std::optional<protocol::Rates> rates = std::exchange(rates_, std::nullopt);
  const bool evaluator = std::exchange(wants_evaluator_, false);
  lock.unlock();
  if (rates) {
    session.tell(*rates);
  }
  if (evaluator) {
    session.ask_for_evaluator();
  }
}

// The session asks for constants first, then for the state, then for the weights.
Offer Above::offer() {
  const std::lock_guard lock(mutex_);
  Offer offer = *offer_;
  offer.constants = [this] { return bring_constants(); };
  offer.state = [this] { return std::move(bringing_.state); };
  offer.initial_weights = [this] { return std::move(bringing_.weights); };
  return offer;
}

std::string Above::bring_constants() {
  {
    const std::lock_guard lock(mutex_);
    brought_.reset();
  }
  tell_(NeedsWeights{});
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, thread_.get_stop_token(), [this] { return brought_.has_value(); })) {
    throw Error(ExitCode::kFailure, "it ended before a worker had brought the first weights");
  }
  bringing_ = *std::exchange(brought_, std::nullopt);
  return std::move(bringing_.constants);
}

}  // namespace outpace::live
