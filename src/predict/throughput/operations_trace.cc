#include "throughput/operations_trace.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/time.h"

namespace outpace::throughput {
namespace {

using OperationKind = sim::Operation::Kind;

enum class TraceThread : std::uint8_t { kReceive, kCompute, kSend, kServer };

TraceThread thread_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kReceive:
      return TraceThread::kReceive;
    case OperationKind::kForward:
    case OperationKind::kBackward:
    case OperationKind::kCompute:
      return TraceThread::kCompute;
    case OperationKind::kSend:
      return TraceThread::kSend;
    case OperationKind::kApply:
      return TraceThread::kServer;
  }
  return TraceThread::kCompute;
}

const char* words_of(TraceThread thread) {
  switch (thread) {
    case TraceThread::kReceive:
      return "receive";
    case TraceThread::kCompute:
      return "compute";
    case TraceThread::kSend:
      return "send";
    case TraceThread::kServer:
      return "apply";
  }
  return "";
}

std::string words_of(const sim::Operation& operation, Topology topology) {
  switch (operation.kind) {
    case OperationKind::kReceive:
      return fmt::format("weights, piece {}", operation.part);
    case OperationKind::kForward:
      return fmt::format("layer {} forward", operation.part);
    case OperationKind::kBackward:
      return fmt::format("layer {} backward", operation.part);
    case OperationKind::kCompute:
      return "compute";
    case OperationKind::kSend:
      if (topology == Topology::kGossip) {
        return "meeting";
      }
      return topology == Topology::kRing ? fmt::format("sum of bucket {}", operation.part)
                                         : fmt::format("gradient, slice {}", operation.part);
    case OperationKind::kApply:
      return topology != Topology::kServer
                 ? "step"
                 : fmt::format("apply the gradient of worker {}", operation.worker);
  }
  return "";
}

double in_microseconds(Duration duration) {
  constexpr double kMicroseconds = 1e6;
  return kMicroseconds * to_seconds(duration);
}

nlohmann::ordered_json metadata(const char* what, std::uint32_t process, std::string name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", process},
          {"tid", 0},
          {"args", {{"name", std::move(name)}}}};
}

}  // namespace

void OperationsTrace::add(const sim::Operation& operation) {
  if (operation.kind != OperationKind::kCompute || layers_.empty()) {
    operations_.push_back(operation);
    return;
  }
  const double seconds = to_seconds(operation.end - operation.begin);
  Time at = operation.begin;
  const auto pass = [&](OperationKind kind, std::size_t layer, double share) {
    const Time begin = std::exchange(at, at + from_seconds(seconds * share));
    operations_.push_back({kind, operation.worker, layer, begin, at});
  };
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    pass(OperationKind::kForward, layer, layers_[layer].forward);
  }
  for (std::size_t layer = layers_.size(); layer-- > 0;) {
    pass(OperationKind::kBackward, layer, layers_[layer].backward);
  }
}

std::string OperationsTrace::json(const std::string& title) const {
  std::vector<sim::Operation> operations = operations_;
  std::stable_sort(operations.begin(), operations.end(), [](const auto& a, const auto& b) {
    return a.begin < b.begin;
  });
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::set<std::pair<std::uint32_t, TraceThread>> named;
  for (const sim::Operation& operation : operations) {
    const TraceThread thread = thread_of(operation.kind);
    const bool is_of_server = thread == TraceThread::kServer && topology_ == Topology::kServer;
    const std::uint32_t process = is_of_server ? 0 : operation.worker + 1;
    if (named.lower_bound({process, TraceThread::kReceive}) ==
        named.upper_bound({process, TraceThread::kServer})) {
      events.push_back(metadata("process_name",
                                process,
                                process == 0 ? "server" : fmt::format("worker {}", process - 1)));
    }
    if (named.insert({process, thread}).second) {
      events.push_back(metadata("thread_name", process, words_of(thread)));
      events.back()["tid"] = static_cast<int>(thread);
    }
    events.push_back({{"name", words_of(operation, topology_)},
                      {"cat", words_of(thread)},
                      {"ph", "X"},
                      {"ts", in_microseconds(operation.begin.time_since_epoch())},
                      {"dur", in_microseconds(operation.end - operation.begin)},
                      {"pid", process},
                      {"tid", static_cast<int>(thread)}});
  }
  const nlohmann::ordered_json all{{"displayTimeUnit", "ms"},
                                   {"otherData", {{"predicted", title}}},
                                   {"traceEvents", std::move(events)}};
  return all.dump() + "\n";
}

}  // namespace outpace::throughput
