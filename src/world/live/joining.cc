// Tested by test/program/join_test.py.

#include "live/joining.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/backoff.h"
#include "base/error.h"

namespace outpace::live {
namespace {

constexpr Duration kAttempt = std::chrono::seconds(5);  // For one address of several.

[[noreturn]] void refuse(const protocol::Stop& stop) {
  const bool unfit = stop.how == protocol::Farewell::kIncompatible;
  throw Error(unfit ? ExitCode::kIncompatible : ExitCode::kFailure, stop.why);
}

}  // namespace

void Joining::connect(const std::string& address, Duration deadline) {
  transport_.reset();  // Before its mailbox.
  mailbox_ = std::make_shared<Mailbox<wire::ConnectionEvent>>();
  transport_ = wire::connect(
      {.address = address, .token = options_.pass, .deadline = deadline, .connections = 1},
      [mailbox = mailbox_](wire::ConnectionEvent event) { mailbox->post(std::move(event)); });
  transport_->send(protocol::AskSeats{.host = options_.host, .workers = options_.workers}, nullptr);
}

std::optional<protocol::Seats> Joining::ask_at(const std::string& address, std::string& why) {
  connect(address, kAttempt);
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(2 * kAttempt);
  std::vector<wire::ConnectionEvent> events;
  while (true) {
    mailbox_->receive(until, events);
    if (events.empty()) {
      why = address + ": it does not answer";
      return std::nullopt;
    }
    for (wire::ConnectionEvent& event : events) {
      if (const auto* closed = std::get_if<wire::Closed>(&event)) {
        if (closed->refused) {
          throw wire::error_of(*closed, address);
        }
        why = closed->why;
        return std::nullopt;
      }
      protocol::Message& message = std::get<wire::Received>(event).message;
      if (const auto* stop = std::get_if<protocol::Stop>(&message)) {
        refuse(*stop);
      }
      if (const auto* answer = std::get_if<protocol::Answer>(&message)) {
        throw Error(answer->code, answer->text);
      }
      if (auto* seats = std::get_if<protocol::Seats>(&message)) {
        return std::move(*seats);
      }
    }
  }
}

protocol::Seats Joining::ask_until(Clock::time_point until) {
  std::vector<std::string> addresses =
      options_.server.empty() ? options_.code.addresses : std::vector{options_.server};
  const auto begun = Clock::now();
  Backoff backoff(std::random_device{}());
  while (true) {
    std::string all;
    for (const std::string& address : addresses) {
      std::string why;
      if (auto seats = ask_at(address, why)) {
        server_ = address;
        lost_.reset();
        return *std::move(seats);
      }
      all += (all.empty() ? "" : "; ") + why;
    }
    const auto pause = std::chrono::duration_cast<Clock::duration>(
        backoff.next(std::chrono::duration_cast<Duration>(Clock::now() - begun)));
    if (Clock::now() + pause >= until || (options_.given_up && options_.given_up())) {
      throw Error(ExitCode::kFailure, all);
    }
    std::this_thread::sleep_for(pause);
  }
}

protocol::Seats Joining::ask() {
  return ask_until(Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.deadline));
}

Joining::News Joining::hear(std::chrono::milliseconds wait) {
  News news;
  if (lost_) {
    const auto until = *lost_ + std::chrono::duration_cast<Clock::duration>(options_.rejoin_for);
    static_cast<void>(ask_until(until));
    options_.say("found the server again at " + server_);
  }
  std::vector<wire::ConnectionEvent> events;
  mailbox_->receive(Clock::now() + wait, events);
  for (wire::ConnectionEvent& event : events) {
    if (const auto* closed = std::get_if<wire::Closed>(&event)) {
      if (closed->refused) {
        throw wire::error_of(*closed, server_);
      }
      if (!news.stop) {
        lost_ = Clock::now();
        options_.say(server_ + ": " + closed->why + "; trying to find it again");
      }
      continue;
    }
    protocol::Message& message = std::get<wire::Received>(event).message;
    if (auto* status = std::get_if<protocol::Status>(&message)) {
      news.status = std::move(*status);
    } else if (auto* stop = std::get_if<protocol::Stop>(&message)) {
      news.stop = std::move(*stop);
    }
  }
  return news;
}

}  // namespace outpace::live
