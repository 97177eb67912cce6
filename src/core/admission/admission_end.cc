// How a run ends: before it has begun, or after, when its final weights are measured.

#include "admission/admission.h"
#include "admission/last_wait.h"
#include "base/check.h"

namespace outpace::admission {

void Admission::nobody_will_join(Effects& out) {
  if (!end_ && !open_) {
    end_now(ExitCode::kTooFewWorkers, "too few workers: all ended before they joined", out);
  }
}

void Admission::stop(ExitCode code, const std::string& why, Effects& out) {
  if (end_) {
    hurries_ = true;
  } else if (!open_) {
    end_now(code, why, out);
  }
}

void Admission::end_now(ExitCode code, const std::string& why, Effects& out) {
  ended({code, why});
  out.emplace_back(End{code, why});
}

void Admission::ended(const server::Finish& finish) {
  if (!end_) {
    end_ = finish;
  }
}

void Admission::trained(Time now, Effects& out) {
  trained_at_ = now;
  if (evaluators_.served()) {
    out.emplace_back(MeasureLast{});
  }
}

std::optional<Time> Admission::waits_until(Time now, bool measuring, Effects& out) {
  CHECK(end_);
  const bool served = evaluators_.served().has_value();
  const RunEnd end{.trained = trained_at_,
                   .interrupted = static_cast<int>(end_->code) > 128,
                   .hurries = hurries_,
                   .measures = served ? measuring : evaluators_.comes(),
                   .may_ask = !served && options_.starts_evaluator &&
                              evaluators_.may_be_asked_for() && end_->code == ExitCode::kDone,
                   .asked_at = evaluators_.asked_at()};
  const LastWait wait = begun_ ? last_wait(now, end) : LastWait{};
  if (!wait.warning.empty()) {
    out.emplace_back(Warn{wait.warning});
  }
  if (!wait.until) {
    evaluators_.dismiss_all();
    for (const ConnectionId evaluator : roster_.all(Role::kEvaluator)) {
      refuse(evaluator, {protocol::Farewell::kFinished, ""}, out);
    }
  }
  return wait.until;
}

bool Admission::measurement_comes(bool measuring) const {
  if (closed_) {
    return false;
  }
  if (evaluators_.served()) {
    return !end_ || measuring;
  }
  // Where the driver starts no evaluator, a person does.
  return evaluators_.comes() || (!end_ && !options_.starts_evaluator);
}

void Admission::close(Effects& out) {
  closed_ = true;
  for (const ConnectionId worker : roster_.all(Role::kWorker)) {  // It came, and never joined.
    say_that_it_is_over(worker, out);
  }
}

void Admission::say_that_it_is_over(ConnectionId to, Effects& out) {
  if (end_->code == ExitCode::kWouldBeginAnew) {
    roster_.send_away(to);
    out.emplace_back(HangUp{to});
    return;
  }
  const bool done = end_->code == ExitCode::kDone;
  refuse(to,
         {done ? protocol::Farewell::kFinished : protocol::Farewell::kFailed,
          "the run is over: " + end_->why},
         out);
}

}  // namespace outpace::admission
