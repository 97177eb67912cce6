// A worker that has the token and no manners: a greedy one pushes without waiting for verdicts. A
// deaf one reads nothing after its first release, and gives up every later one by trying the
// numbers that it could have. Gradients are zeros of any size.
//
// Prints "verdict" for each verdict that it has read. A greedy one ends when the server ends the
// connection; a deaf one does not notice that, and has to be killed.

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/overloaded.h"
#include "live/mailbox.h"
#include "wire/transports.h"

namespace outpace {
namespace {

using std::chrono::steady_clock;

constexpr auto kPeriod = std::chrono::milliseconds(50);  // Between a deaf worker's attempts.

struct RudeOptions {
  std::string server;
  std::string token_file;
  std::uint32_t worker = 0;
  std::uint64_t numbers = 0;  // The network's size.
  std::uint32_t copies = 8;   // Pushes for each release.
  bool deaf = false;
};

RudeOptions parse(int argc, char** argv) {
  RudeOptions options;
  CLI::App app("A worker that pushes without waiting, or does not read");
  app.add_option("--server", options.server)->required();
  app.add_option("--token-file", options.token_file)->required();
  app.add_option("--worker", options.worker)->required();
  app.add_option("--numbers", options.numbers)->required();
  app.add_option("--copies", options.copies);
  app.add_flag("--deaf", options.deaf);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what());
  }
  return options;
}

class RudeWorker {
 public:
  explicit RudeWorker(const RudeOptions& options)
      : options_(options),
        zeros_(std::make_shared<const std::vector<float>>(options.numbers, 0.0F)) {
    std::ifstream file(options.token_file);
    std::string token;
    std::getline(file, token);
    transport_ = wire::connect({.address = options.server, .token = token},
                               [this](wire::ConnectionEvent event) { take(std::move(event)); });
  }
  // Never destroyed while it is deaf: its thread waits for ever.

  [[noreturn]] void run() {
    transport_->authorise(options_.numbers);
    transport_->send(
        protocol::Hello{
            .worker = WorkerId{options_.worker},
            .host = "rude",
            .dataset_examples = 1000,
            .manifest = {.tensors = {{.name = "weights", .shape = {options_.numbers}}}}},
        nullptr);
    while (true) {
      std::vector<wire::ConnectionEvent> events;
      mailbox_.receive(steady_clock::now() + kPeriod, events);
      for (const wire::ConnectionEvent& event : events) {
        std::visit(Overloaded{[&](const wire::Received& received) { answer(received.message); },
                              [&](const wire::Closed& closed) { lost(closed); }},
                   event);
      }
      if (options_.deaf && released_) {
        give_up_releases();
      }
    }
  }

 private:
  // On the transport's thread.
  void take(wire::ConnectionEvent event) {
    const auto* received = std::get_if<wire::Received>(&event);
    const bool release =
        received != nullptr && std::holds_alternative<protocol::Release>(received->message);
    mailbox_.post(std::move(event));
    if (options_.deaf && release) {
      std::promise<void>().get_future().wait();  // For ever.
    }
  }

  void answer(const protocol::Message& message) {
    if (const auto* welcome = std::get_if<protocol::Welcome>(&message)) {
      id_ = {.job = welcome->job,
             .generation = welcome->generation,
             .worker = WorkerId{options_.worker},
             .incarnation = welcome->incarnation,
             .sequence = {}};
      if (welcome->needs_weights) {
        transport_->send(protocol::InitialWeights{}, zeros_);
      }
    } else if (const auto* release = std::get_if<protocol::Release>(&message)) {
      released_ = true;
      id_.sequence = release->sequence;
      for (std::uint32_t i = 0; i < options_.copies; ++i) {
        push();
      }
    } else if (std::holds_alternative<protocol::Verdict>(message)) {
      std::puts("verdict");
      std::fflush(stdout);
    } else if (const auto* stop = std::get_if<protocol::Stop>(&message)) {
      throw Error(ExitCode::kFailure, "sent away: " + stop->why);
    }
  }

  void push() {
    transport_->send(
        protocol::Push{
            .id = id_, .examples = 4, .partial = false, .loss = 1.0, .compute_seconds = 0.001},
        zeros_);
  }

  // Its thread does not send either: each call sends what the socket takes.
  void give_up_releases() {
    constexpr std::uint64_t kTried =
        400;  // The server counts the releases of all workers together.
    protocol::GradientId id = id_;
    for (std::uint64_t later = kTried; later > 0; --later) {  // Downwards: one of them fits.
      id.sequence = Sequence{number(id_.sequence) + later};
      transport_->send(protocol::Abandoned{id}, nullptr);
    }
  }

  static void lost(const wire::Closed& closed) {
    throw Error(ExitCode::kFailure, "closed: " + closed.why);
  }

  const RudeOptions options_;
  const wire::Payload zeros_;
  live::Mailbox<wire::ConnectionEvent> mailbox_;
  protocol::GradientId id_{};
  bool released_ = false;
  std::unique_ptr<wire::ClientTransport> transport_;  // Last: its thread posts to the mailbox.
};

}  // namespace
}  // namespace outpace

int main(int argc, char** argv) {
  try {
    const outpace::RudeOptions options = outpace::parse(argc, argv);
    outpace::RudeWorker(options).run();
  } catch (const outpace::Error& error) {
    std::fprintf(stderr, "rude_worker: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rude_worker: %s\n", error.what());
    return 1;
  }
}
