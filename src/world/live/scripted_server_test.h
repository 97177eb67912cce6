// For the tests of evaluators: an evaluator of two weights, and a server that answers as a test
// says.

#pragma once

#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/temporary_directory_test.h"
#include "live/worker_loop.h"
#include "wire/transports.h"

namespace outpace::live {

inline constexpr const char* kEvaluatorToken = "open-sesame";

// Its accuracy is the first weight, its loss the second.
class TwoWeights final : public worker::Evaluator {
 public:
  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] worker::Evaluation evaluate(std::span<const float> weights) override {
    return {.accuracy = weights[0], .loss = weights[1]};
  }

 private:
  const protocol::Manifest manifest_{{{.name = "weight", .shape = {2}}}};
};

// A server that answers each message of an evaluator as the test says.
class ScriptedServer {
 public:
  using Answer = std::function<void(
      wire::ServerTransport& server, wire::ConnectionId from, const protocol::Message&)>;

  explicit ScriptedServer(Answer answer) : ScriptedServer(std::move(answer), "") {}
  // At the address; empty: a Unix socket.
  ScriptedServer(Answer answer, const std::string& address)
      : answer_(std::move(answer)),
        ready_(made_.get_future().share()),
        transport_(
            wire::serve({.address = address.empty() ? "unix:" + (folder_ / "s").string() : address,
                         .token = kEvaluatorToken},
                        [this](wire::ConnectionId from, const wire::ConnectionEvent& event) {
                          ready_.wait();
                          if (const auto* received = std::get_if<wire::Received>(&event)) {
                            answer_(*transport_, from, received->message);
                          }
                        })) {
    made_.set_value();
  }

  // Runs an evaluator with this token until it ends; what it threw, as error_of() says it.
  [[nodiscard]] std::string run(const std::string& token = kEvaluatorToken,
                                Duration rejoin_for = {}) const {
    return run_at(transport_->address(), token, rejoin_for);
  }
  // The same through another address.
  [[nodiscard]] static std::string run_at(const std::string& address,
                                          const std::string& token,
                                          Duration rejoin_for) {
    return error_of([&] {
      TwoWeights evaluator;
      run_evaluator({.server = address, .token = token}, evaluator, rejoin_for);
    });
  }
  [[nodiscard]] std::string address() const { return transport_->address(); }

 private:
  const TemporaryDirectory folder_;
  const Answer answer_;
  std::promise<void> made_;
  const std::shared_future<void> ready_;
  std::unique_ptr<wire::ServerTransport> transport_;  // Last: its threads use the rest.
};

}  // namespace outpace::live
