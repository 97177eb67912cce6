#include "swarm/words.h"

#include "base/overloaded.h"

namespace outpace::swarm {
namespace {

std::string name(const protocol::GradientId& id) {
  return name(id.worker) + " (incarnation " + std::to_string(id.incarnation) + "), gradient " +
         std::to_string(number(id.sequence));
}

std::string name(ConnectionId connection) {
  return "connection " + std::to_string(static_cast<std::uint64_t>(connection));
}

std::string to_words(const policy::Action& action) {
  using Text = std::string;
  return std::visit(
      Overloaded{[](const policy::Accept& accept) { return "accept of " + name(accept.worker); },
                 [](const policy::Drop& drop) { return "drop of " + name(drop.worker); },
                 [](const policy::Commit&) { return Text("commit"); },
                 [](const policy::Release& release) { return "release " + name(release.worker); },
                 [](const policy::Cancel& cancel) { return "cancel " + name(cancel.worker); },
                 [](const policy::WakeAt&) { return Text("set the timer"); },
                 [](const policy::Switched&) { return Text("switch"); }},
      action);
}

}  // namespace

std::string to_words(const policy::Event& event) {
  using Text = std::string;
  return std::visit(
      Overloaded{
          [](const policy::WorkerJoined& joined) { return name(joined.worker) + " joined"; },
          [](const policy::WorkerLeft& left) {
            return name(left.worker) + (left.how == policy::Departure::kDrained   ? " found no data"
                                        : left.how == policy::Departure::kStalled ? " is stalled"
                                                                                  : " is gone");
          },
          [](const policy::GradientArrived& gradient) {
            return "gradient " + std::to_string(number(gradient.release)) + " of " +
                   name(gradient.worker) + " on version " +
                   std::to_string(count(gradient.computed_on));
          },
          [](const policy::ReleaseEnded& ended) {
            return name(ended.worker) + (ended.how == policy::Ending::kAbandoned ? " gave up"
                                         : ended.how == policy::Ending::kRefused ? " was refused"
                                                                                 : " was filtered");
          },
          [](const policy::TimerFired&) { return Text("the timer"); },
          [](const policy::Measured&) { return Text("a measurement"); },
          [](const policy::PolicySet& set) { return "policy set to " + Text(set.policy); }},
      event);
}

std::string to_words(const policy::Decision& decision) {
  std::string text = policy::to_words(decision.reason);
  for (const policy::Action& action : decision.actions) {
    text += ", " + to_words(action);
  }
  return text;
}

std::string to_words(const server::Input& input) {
  return std::visit(
      Overloaded{
          [](const server::JoinInput& joins) {
            return name(joins.worker) + " joins as incarnation " +
                   std::to_string(joins.incarnation);
          },
          [](const server::LeaveInput& leaves) {
            return "the connection of " + name(leaves.worker) + ", incarnation " +
                   std::to_string(leaves.incarnation) + ", is gone";
          },
          [](const server::PushInput& push) {
            return "push of " + name(push.id) + (push.finite ? "" : ", not finite") +
                   (push.filtered ? ", filtered" : "");
          },
          [](const server::AbandonInput& abandoned) { return "given up: " + name(abandoned.id); },
          [](const server::HeartbeatInput& heard) {
            return "the heart of " + name(heard.worker) + ", incarnation " +
                   std::to_string(heard.incarnation) + ", beats";
          },
          [](const server::OtherInput&) { return std::string("time passes"); }},
      input);
}

std::string to_words(const admission::Input& input) {
  return std::visit(
      Overloaded{
          [](const admission::WorkerGreets& worker) {
            return name(worker.worker) + " greets over " + name(worker.peer) + ", process " +
                   std::to_string(worker.process);
          },
          [](const admission::EvaluatorGreets& evaluator) {
            return "an evaluator greets over " + name(evaluator.peer);
          },
          [](const admission::WorkerLeaves& leaves) { return "goodbye over " + name(leaves.peer); },
          [](const admission::ConnectionEnds& end) { return name(end.peer) + " ends"; },
          [](const admission::RunEnds&) { return std::string("the run has ended"); }},
      input);
}

std::string to_words(const admission::Effect& effect) {
  using Text = std::string;
  return std::visit(
      Overloaded{
          [](const admission::Accept& accepted) {
            return "accept " + name(accepted.peer) + " as incarnation " +
                   std::to_string(accepted.incarnation) + " of " + name(accepted.worker);
          },
          [](const admission::Welcome& again) { return "welcome " + name(again.peer) + " again"; },
          [](const admission::Refuse& refused) {
            return "refuse " + name(refused.peer) + ": " + refused.stop.why;
          },
          [](const admission::HangUp& ended) { return "hang up " + name(ended.peer); },
          [](const admission::Open&) { return Text("make the coordinator"); },
          [](const admission::Reset&) { return Text("drop the coordinator"); },
          [](const admission::Join& join) {
            return std::to_string(join.workers.size()) + " workers join";
          },
          [](const admission::Leave& leave) { return name(leave.worker) + " leaves"; },
          [](const admission::ScriptChanged&) { return Text("another script"); },
          [](const admission::ForgetWeights&) { return Text("forget the first weights"); },
          [](const admission::Serve& serve) {
            return "serve the evaluator of " + name(serve.peer);
          },
          [](const admission::EvaluatorLost&) { return Text("the evaluator is lost"); },
          [](const admission::MeasureLast&) { return Text("measure the final weights"); },
          [](const admission::StartEvaluator&) { return Text("start an evaluator"); },
          [](const admission::Warn& warning) { return "warn: " + warning.text; },
          [](const admission::Awaits& awaits) { return awaits.text; },
          [](const admission::End& end) { return "end: " + end.why; }},
      effect);
}

}  // namespace outpace::swarm
