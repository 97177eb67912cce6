#include <chrono>
#include <variant>

#include <gtest/gtest.h>

#include "chaos_run/fault_proxy.h"
#include "live/scripted_server_test.h"

namespace outpace::chaos_run {
namespace {

// Over TCP each record has a checksum; the evaluator used to end with the first that was wrong.
TEST(EvaluatorBehindAProxy, ConnectsAnewWhenARecordWasChangedOnTheWay) {
  constexpr int kMany = 1000;  // Messages: the proxy changes nothing of a handshake.
  int connections = 0;         // Read after the evaluator has ended.
  const live::ScriptedServer server(
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
  FaultProxy proxy({"127.0.0.1:0"}, 1);
  proxy.set_server(server.address());
  proxy.corrupt(0, 1);
  EXPECT_EQ(live::ScriptedServer::run_at(
                proxy.address(0), live::kEvaluatorToken, std::chrono::minutes(1)),
            "");
  EXPECT_EQ(connections, 2);
}

}  // namespace
}  // namespace outpace::chaos_run
