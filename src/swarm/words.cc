#include "swarm/words.h"

namespace outpace::swarm {
namespace {

std::string name(const protocol::GradientId& id) {
  return name(id.worker) + " (incarnation " + std::to_string(id.incarnation) + "), gradient " +
         std::to_string(number(id.sequence));
}

std::string to_words(const policy::Action& action) {
  if (const auto* accept = std::get_if<policy::Accept>(&action)) {
    return "accept of " + name(accept->worker);
  }
  if (const auto* drop = std::get_if<policy::Drop>(&action)) {
    return "drop of " + name(drop->worker);
  }
  if (const auto* release = std::get_if<policy::Release>(&action)) {
    return "release " + name(release->worker);
  }
  if (const auto* cancel = std::get_if<policy::Cancel>(&action)) {
    return "cancel " + name(cancel->worker);
  }
  if (std::holds_alternative<policy::Switched>(action)) {
    return "switch";
  }
  return std::holds_alternative<policy::Commit>(action) ? "commit" : "set the timer";
}

}  // namespace

std::string to_words(const policy::Event& event) {
  if (const auto* joined = std::get_if<policy::WorkerJoined>(&event)) {
    return name(joined->worker) + " joined";
  }
  if (const auto* left = std::get_if<policy::WorkerLeft>(&event)) {
    return name(left->worker) +
           (left->how == policy::Departure::kDrained ? " found no data" : " is gone");
  }
  if (const auto* gradient = std::get_if<policy::GradientArrived>(&event)) {
    return "gradient " + std::to_string(number(gradient->release)) + " of " +
           name(gradient->worker) + " on version " + std::to_string(count(gradient->computed_on));
  }
  if (const auto* ended = std::get_if<policy::ReleaseEnded>(&event)) {
    return name(ended->worker) + (ended->how == policy::Ending::kAbandoned ? " gave up"
                                  : ended->how == policy::Ending::kRefused ? " was refused"
                                                                           : " was filtered");
  }
  if (const auto* set = std::get_if<policy::PolicySet>(&event)) {
    return "policy set to " + std::string(set->policy);
  }
  return std::holds_alternative<policy::TimerFired>(event) ? "the timer" : "a measurement";
}

std::string to_words(const policy::Decision& decision) {
  std::string text = policy::to_words(decision.reason);
  for (const policy::Action& action : decision.actions) {
    text += ", " + to_words(action);
  }
  return text;
}

std::string to_words(const server::Told& told) {
  if (const auto* joins = std::get_if<server::ToldJoin>(&told)) {
    return name(joins->worker) + " joins as incarnation " + std::to_string(joins->incarnation);
  }
  if (const auto* leaves = std::get_if<server::ToldLeave>(&told)) {
    return "the connection of " + name(leaves->worker) + ", incarnation " +
           std::to_string(leaves->incarnation) + ", is gone";
  }
  if (const auto* push = std::get_if<server::ToldPush>(&told)) {
    return "push of " + name(push->id) + (push->finite ? "" : ", not finite") +
           (push->filtered ? ", filtered" : "");
  }
  if (const auto* abandoned = std::get_if<server::ToldAbandoned>(&told)) {
    return "given up: " + name(abandoned->id);
  }
  if (const auto* heard = std::get_if<server::ToldHeard>(&told)) {
    return "the heart of " + name(heard->worker) + ", incarnation " +
           std::to_string(heard->incarnation) + ", beats";
  }
  return "time passes";
}

}  // namespace outpace::swarm
