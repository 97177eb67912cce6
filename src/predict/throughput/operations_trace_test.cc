#include "throughput/operations_trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace outpace::throughput {
namespace {

using Kind = sim::Operation::Kind;

constexpr Time at(int milliseconds) {
  return Time{std::chrono::milliseconds(milliseconds)};
}

// Names, processes, begins and durations, in their order.
std::vector<std::string> events_of(const OperationsTrace& trace) {
  std::vector<std::string> events;
  const auto json = nlohmann::json::parse(trace.json("sync"));
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") {
      events.push_back(event["name"].get<std::string>() + " @" + event["pid"].dump() + ": " +
                       event["ts"].dump() + "+" + event["dur"].dump());
    }
  }
  return events;
}

TEST(OperationsTrace, HasOperationsInOrderByWorker) {
  OperationsTrace trace(Topology::kServer, {});
  trace.add({Kind::kSend, 1, 2, at(7), at(9)});
  trace.add({Kind::kReceive, 1, 0, at(0), at(5)});
  trace.add({Kind::kApply, 1, 0, at(9), at(10)});
  EXPECT_EQ(events_of(trace),
            (std::vector<std::string>{"weights, piece 0 @2: 0.0+5000.0",
                                      "gradient, slice 2 @2: 7000.0+2000.0",
                                      "apply the gradient of worker 1 @0: 9000.0+1000.0"}));
  const auto json = nlohmann::json::parse(trace.json("sync, 2 workers"));
  EXPECT_EQ(json["otherData"]["predicted"], "sync, 2 workers");
  EXPECT_EQ(json["traceEvents"][0]["name"], "process_name");
  EXPECT_EQ(json["traceEvents"][0]["args"]["name"], "worker 1");
}

TEST(OperationsTrace, SplitsComputingIntoLayers) {
  OperationsTrace trace(Topology::kServer,
                        {{.forward = 0.1, .backward = 0.3}, {.forward = 0.2, .backward = 0.4}});
  trace.add({Kind::kCompute, 0, 0, at(100), at(200)});
  EXPECT_EQ(events_of(trace),
            (std::vector<std::string>{"layer 0 forward @1: 100000.0+10000.0",
                                      "layer 1 forward @1: 110000.0+20000.0",
                                      "layer 1 backward @1: 130000.0+40000.0",
                                      "layer 0 backward @1: 170000.0+30000.0"}));
}

TEST(OperationsTrace, HasNoServerInARing) {
  OperationsTrace trace(Topology::kRing, {});
  trace.add({Kind::kSend, 1, 0, at(0), at(2)});
  trace.add({Kind::kApply, 1, 0, at(2), at(3)});
  EXPECT_EQ(events_of(trace),
            (std::vector<std::string>{"sum of bucket 0 @2: 0.0+2000.0", "step @2: 2000.0+1000.0"}));
}

}  // namespace
}  // namespace outpace::throughput
