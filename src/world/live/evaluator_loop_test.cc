#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "live/worker_loop.h"
#include "wire/fault_proxy.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

constexpr const char* kEvaluatorToken = "open-sesame";

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

wire::Payload payload_of(float accuracy, float loss) {
  return std::make_shared<const std::vector<float>>(std::vector<float>{accuracy, loss});
}

TEST(EvaluatorLoop, MeasuresEachSnapshotUntilTheRunIsOver) {
  std::vector<protocol::Measurement> found;  // Read after the evaluator has ended.
  const ScriptedServer server([&](wire::ServerTransport& transport,
                                  wire::ConnectionId from,
                                  const protocol::Message& message) {
    if (const auto* observe = std::get_if<protocol::Observe>(&message)) {
      EXPECT_EQ(observe->manifest, TwoWeights().manifest());
      transport.send(from, protocol::Snapshot{Version{3}}, payload_of(0.25F, 1.5F));
      transport.send(from,
                     protocol::Snapshot{Version{7}},
                     payload_of(0.5F, std::numeric_limits<float>::infinity()));
    } else if (const auto* measured = std::get_if<protocol::Measurement>(&message)) {
      found.push_back(*measured);
      if (found.size() == 2) {
        transport.send(from, protocol::Stop{protocol::Farewell::kFinished, "done"}, nullptr);
        transport.close(from);
      }
    }
  });
  EXPECT_EQ(server.run(), "");
  // A loss that is not finite goes out as the largest that a message may have.
  EXPECT_EQ(
      found,
      (std::vector<protocol::Measurement>{{.version = Version{3}, .accuracy = 0.25, .loss = 1.5},
                                          {.version = Version{7}, .accuracy = 0.5, .loss = 1e30}}));
}

TEST(EvaluatorLoop, EndsWithTheReasonOfAServerThatRefusesItsNetwork) {
  const ScriptedServer server([](wire::ServerTransport& transport,
                                 wire::ConnectionId from,
                                 const protocol::Message& /*message*/) {
    transport.send(
        from, protocol::Stop{protocol::Farewell::kIncompatible, "another network"}, nullptr);
    transport.close(from);
  });
  EXPECT_EQ(server.run(), "4: another network");
}

TEST(EvaluatorLoop, SaysThatItsTokenWasRefused) {
  const ScriptedServer server([](wire::ServerTransport&,
                                 wire::ConnectionId,
                                 const protocol::Message&) { FAIL() << "a message came"; });
  EXPECT_EQ(
      server.run("no"),
      "3: " + server.address() + ": the server refused the token; is --token-file the server's?");
}

TEST(EvaluatorLoop, ConnectsAnewWhenTheConnectionIsLost) {
  int connections = 0;  // Read after the evaluator has ended.
  const ScriptedServer server([&](wire::ServerTransport& transport,
                                  wire::ConnectionId from,
                                  const protocol::Message& /*message*/) {
    if (++connections > 2) {
      transport.send(from, protocol::Stop{protocol::Farewell::kFinished, "done"}, nullptr);
    }
    transport.close(from);
  });
  EXPECT_EQ(server.run(kEvaluatorToken, std::chrono::minutes(1)), "");
  EXPECT_EQ(connections, 3);
}

// Over TCP each record has a checksum; the evaluator used to end with the first that was wrong.
TEST(EvaluatorLoop, ConnectsAnewWhenARecordWasChangedOnTheWay) {
  constexpr int kMany = 1000;  // Messages: the proxy changes nothing of a handshake.
  int connections = 0;         // Read after the evaluator has ended.
  const ScriptedServer server(
      [&](wire::ServerTransport& transport,
          wire::ConnectionId from,
          const protocol::Message& message) {
        if (!std::holds_alternative<protocol::Observe>(message)) {
          return;
        }
        if (++connections == 2) {
          transport.send(from, protocol::Stop{protocol::Farewell::kFinished, "done"}, nullptr);
          transport.close(from);
          return;
        }
        for (int i = 0; i < kMany; ++i) {
          transport.send(from, protocol::Observe{}, nullptr);
        }
      },
      "127.0.0.1:0");
  wire::FaultProxy proxy({"127.0.0.1:0"}, 1);
  proxy.set_server(server.address());
  proxy.corrupt(0, 1);
  EXPECT_EQ(ScriptedServer::run_at(proxy.address(0), kEvaluatorToken, std::chrono::minutes(1)), "");
  EXPECT_EQ(connections, 2);
}

TEST(EvaluatorLoop, FailsIfTheConnectionEndsBeforeTheRun) {
  const ScriptedServer server([](wire::ServerTransport& transport,
                                 wire::ConnectionId from,
                                 const protocol::Message& /*message*/) { transport.close(from); });
  EXPECT_EQ(server.run().substr(0, 3 + server.address().size()), "1: " + server.address());
}

}  // namespace
}  // namespace outpace::live
