// Tested by src/world/live/evaluator_loop_test.cc.

#include "live/lasting_evaluator.h"

#include <cmath>
#include <random>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "live/reaching.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

using std::chrono::steady_clock;

// The numbers of a message are finite; a loss that is not is at least this bad.
constexpr double kLossMax = 1e30;
constexpr auto kLasted = std::chrono::minutes(1);

}  // namespace

LastingEvaluator::LastingEvaluator(const SessionOptions& options,
                                   protocol::Manifest manifest,
                                   Duration rejoin_for)
    : manifest_(std::move(manifest)),
      rejoin_for_(rejoin_for),
      options_(options),
      backoff_(std::random_device{}()) {}

std::optional<LastingEvaluator::Snapshot> LastingEvaluator::next() {
  while (true) {
    if (!transport_) {
      connect();
    }
    if (events_.empty()) {
      std::vector<wire::ConnectionEvent> events;
      mailbox_->receive(steady_clock::time_point::max(), events);
      events_.insert(events_.end(),
                     std::make_move_iterator(events.begin()),
                     std::make_move_iterator(events.end()));
      continue;
    }
    wire::ConnectionEvent event = std::move(events_.front());
    events_.pop_front();
    if (const auto* closed = std::get_if<wire::Closed>(&event)) {
      lost(*closed);
      continue;
    }
    auto& received = std::get<wire::Received>(event);
    if (const auto* stop = std::get_if<protocol::Stop>(&received.message)) {
      if (stop->how == protocol::Farewell::kIncompatible) {
        throw Error(ExitCode::kIncompatible, stop->why);
      }
      return std::nullopt;
    }
    if (auto* part = std::get_if<protocol::Constants>(&received.message)) {
      if (came_.add(std::move(*part)).empty() && came_.complete()) {
        constants_ = came_.take();
      }
      continue;
    }
    if (const auto* snapshot = std::get_if<protocol::Snapshot>(&received.message)) {
      return Snapshot{.version = snapshot->version, .weights = std::move(received.payload)};
    }
  }
}

void LastingEvaluator::answer(Version version, const worker::Evaluation& found) {
  if (!transport_) {
    return;
  }
  protocol::Measurement measurement{
      .version = version, .accuracy = found.accuracy, .loss = found.loss, .values = found.values};
  if (measurement.loss && !std::isfinite(*measurement.loss)) {
    measurement.loss = kLossMax;
  }
  for (protocol::NamedValue& value : measurement.values) {
    if (!std::isfinite(value.value)) {
      value.value = value.value < 0.0 ? -kLossMax : kLossMax;
    }
  }
  transport_->send(measurement, nullptr);
}

void LastingEvaluator::connect() {
  begun_ = steady_clock::now();
  events_.clear();
  mailbox_ = std::make_unique<Mailbox<wire::ConnectionEvent>>();
  // The transport's thread uses it as long as it lives.
  const auto reaching = std::make_shared<Reaching>("the evaluator", options_.deadline);
  transport_ = wire::connect(
      {.address = options_.server,
       .token = options_.token,
       .deadline = options_.deadline,
       .tls = options_.tls,
       .keep_alive = options_.keep_alive,
       .tried = [reaching](const std::string& why) { reaching->tried(why); },
       .connections = options_.connections,
       .several = say_several("the evaluator")},
      [mailbox = mailbox_.get()](wire::ConnectionEvent event) { mailbox->post(std::move(event)); });
  transport_->authorise(manifest_.numbers());
  transport_->send(protocol::Observe{.manifest = manifest_}, nullptr);
}

void LastingEvaluator::lost(const wire::Closed& closed) {
  if (closed.refused || !closed.reached || rejoin_for_ == Duration{}) {
    throw wire::error_of(closed, options_.server);
  }
  transport_.reset();
  options_.deadline = rejoin_for_;
  if (steady_clock::now() - begun_ >= kLasted) {
    backoff_ = Backoff(std::random_device{}());
  }
  std::this_thread::sleep_for(backoff_.next({}));
}

}  // namespace outpace::live
