// The host's fourth part: machines that join by a code, and what people ask by `outpace ctl`.
// Tested by test/program/peer_join_test.py.

#include <utility>

#include "collective/host.h"

namespace outpace::collective {

live::Guests::Options Host::guest_options(const HostOptions& options) {
  return {.keyring = options.keyring,
          .seats = options.seats,
          .most = options.workers,
          .full = "--workers, and --workers-here of them on the first machine"};
}

live::Guests::Calls Host::guest_calls() {
  return {.refuse =
              [this](wire::ConnectionId peer, protocol::Farewell how, const std::string& why) {
                admission::Effects effects;
                admission_.refuse(peer, {how, why}, effects);
                admit(now(), std::move(effects));
              },
          .expel =
              [this](wire::ConnectionId worker, const protocol::Stop& stop) {
                admission::Effects effects;
                admission_.expel(worker, stop, effects);
                admit(now(), std::move(effects));
              },
          .warn = [this](const std::string& text) { say(text); }};
}

bool Host::is_guest(wire::ConnectionId connection) const {
  const auto proved = transport_->proved(connection);
  return proved && !proved->is_token();
}

protocol::Status Host::status(Time now) const {
  const server::Statistics& statistics = tally_->statistics();
  return {.policy = options_.topology == Topology::kRing ? "ring" : "gossip",
          .coming = "",
          .version = tally_->version(),
          .live = tally_->live(),
          .workers = options_.workers,
          .staleness_mean = 0.0,
          .training_loss = statistics.training_loss,
          .now = run_time(now),
          .stalled = "",
          .staleness = "none"};
}

void Host::tell_status(Time now, wire::ConnectionId from, const protocol::AskStatus& ask) {
  if (ask.protocol != protocol::kProtocolVersion) {
    guest_calls().refuse(
        from, protocol::Farewell::kIncompatible, admission::wrong_protocol(ask.protocol));
    return;
  }
  if (tally_) {
    transport_->send(from, status(now), nullptr);
  } else {
    transport_->send(
        from,
        protocol::Answer{ExitCode::kFailure, "the run has not begun: it waits for its workers"},
        nullptr);
  }
  transport_->close(from);
}

void Host::refuse_command(wire::ConnectionId from, std::uint32_t protocol) {
  if (guests_.commands(*transport_, from, protocol)) {
    transport_->send(
        from,
        protocol::Answer{ExitCode::kFailure,
                         "this run has no server, so it has no policy to set and no worker to slow "
                         "down"},
        nullptr);
    transport_->close(from);
  }
}

void Host::tell_guests(Time now) {
  if (tally_ && guests_.due(now)) {
    guests_.tell_all(*transport_, status(now), tally_->statistics());
  }
}

void Host::end_guests(Time now) {
  if (tally_) {
    guests_.tell_all(*transport_, status(now), tally_->statistics());
  }
  const bool done = code_ == ExitCode::kDone;
  guests_.dismiss(
      *transport_, {done ? protocol::Farewell::kFinished : protocol::Farewell::kFailed, why_}, "");
}

}  // namespace outpace::collective
