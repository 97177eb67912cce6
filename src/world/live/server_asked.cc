// What the workers' scripts ask for over connections of their own: the end of the run, and what the
// evaluator has found.
// Tested by test/program/python_ends_test.py.

#include "live/server.h"

namespace outpace::live {

void Server::end_run(Time now, wire::ConnectionId from, const protocol::EndRun& end) {
  if (end.protocol != protocol::kProtocolVersion) {
    refuse(now, from, protocol::Farewell::kIncompatible, admission::wrong_protocol(end.protocol));
    return;
  }
  if (!admission_.end()) {
    ended_by_script_ = end.why;
  }
  if (!admission_.end() && !end.why.empty()) {
    stop_asked(now, {ExitCode::kDone, end.why});
  } else if (!admission_.end() && coordinator_) {
    to_coordinator(now, [&](auto& out) { coordinator_->loop_ended(now, out); });
  }
  answer(from, ExitCode::kDone, "");
}

void Server::tell_evaluated(Time now, wire::ConnectionId from, const protocol::AskEvaluated& ask) {
  if (ask.protocol != protocol::kProtocolVersion) {
    refuse(now, from, protocol::Farewell::kIncompatible, admission::wrong_protocol(ask.protocol));
    return;
  }
  if (above_) {
    answer(from,
           ExitCode::kFailure,
           "outpace reduce does not pass on what a script asks the evaluator; take workers without "
           "it, or a schedule that follows no measurement");
    return;
  }
  const Version version = begun() ? coordinator_->version() : Version{0};
  const server::Evaluation* found = evaluations_.of_epoch(ask.epoch, version);
  if (!found && evaluations_.waiting() == 0 && begun() && !admission_.end() &&
      admission_.evaluator()) {
    // A worker waits for it, so --evaluate-every does not count.
    send_snapshot(
        version, coordinator_->run_time(now), coordinator_->statistics().examples_applied);
  }
  if (!found && !admission_.end() && options_.starts_evaluator) {
    ask_for_evaluator(now);  // A worker's own question may still be on its way.
  }
  const bool comes = !found && admission_.measurement_comes(evaluations_.waiting() > 0);
  if (!found && !comes && !evaluations_.all().empty()) {
    found = &evaluations_.all().back();  // The last that there will be.
  }
  protocol::Evaluated told{.comes = comes, .found = {}};
  if (found) {
    told.found = protocol::Measurement{.version = found->version,
                                       .accuracy = found->accuracy,
                                       .loss = found->loss,
                                       .values = found->values};
  }
  transport_->send(from, told, nullptr);
  transport_->close(from);
}

}  // namespace outpace::live
