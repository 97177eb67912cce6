#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "live/scripted_server_test.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

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

TEST(EvaluatorLoop, FailsIfTheConnectionEndsBeforeTheRun) {
  const ScriptedServer server([](wire::ServerTransport& transport,
                                 wire::ConnectionId from,
                                 const protocol::Message& /*message*/) { transport.close(from); });
  EXPECT_EQ(server.run().substr(0, 3 + server.address().size()), "1: " + server.address());
}

}  // namespace
}  // namespace outpace::live
