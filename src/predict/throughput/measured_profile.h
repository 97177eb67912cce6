// A measured profile: the costs of one worker and one server, as a file. Predictions start from it.
//
// A worker's iteration is computing plus the rest: sending the gradient, the server's work on it,
// and receiving the weights. The rest is composed of costs that were measured separately:
//
//   rest = 2 message_seconds + 2 payload byte_seconds + apply_seconds
//
// message_seconds is the one-way cost of an empty message (threads, system calls). byte_seconds is
// the cost of a byte on both processors (serialising, copying, parsing). apply_seconds is the
// server's cost of a gradient and an update of the weights.
//
// Even iterations are for predicting and odd ones for judging predictions (live/paced_source.h), so
// that no prediction is judged by the data it was made from.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/messages.h"
#include "throughput/packing_rates.h"

namespace outpace::throughput {

struct MeasuredIteration {
  double compute_seconds;
  double rest_seconds;

  bool operator==(const MeasuredIteration&) const = default;
};

// Medians over the iterations.
struct MeasuredLayer {
  double forward_seconds;
  double backward_seconds;
  // How many of the next tensors are its weights; nothing if that is not known.
  std::optional<std::size_t> tensors = {};

  bool operator==(const MeasuredLayer&) const = default;
};

// What stands in for a cost that was not measured.
inline constexpr const char* kTakenAsZero = "zero";
// PyTorch's own optimizer, in a trace.
inline constexpr const char* kTakenFromOptimizer = "optimizer";

struct MeasuredProfile {
  std::string network;  // As the user wrote it.
  std::string data;
  std::uint32_t batch = 0;  // Examples per mini-batch.
  std::uint64_t dataset_examples = 0;
  protocol::Manifest manifest;  // 4 bytes per number.
  std::vector<MeasuredIteration> iterations;
  std::vector<MeasuredLayer> layers;  // In the order of the forward pass; empty if not known.
  double apply_seconds = 0.0;
  double message_seconds = 0.0;
  double byte_seconds = 0.0;
  // The same two costs for the sums of a ring, between two workers, and half of a meeting of two
  // workers of a gossip without weights (collective/peer_cost.h). If absent, those above apply; if
  // the last one is, a sum's message.
  struct Sums {
    double message_seconds;
    double byte_seconds;
    std::optional<double> meeting_message_seconds = std::nullopt;
    bool operator==(const Sums&) const = default;
  };
  std::optional<Sums> sums;
  PackingRates packing;  // By a core of the machine.
  // Those of apply_seconds, message_seconds and byte_seconds that were not measured, as in a
  // profile made from a trace, and what stands in for each.
  std::map<std::string, std::string> not_measured;

  [[nodiscard]] double payload_bytes() const;
  // Computing seconds of the even iterations, and of the odd ones.
  [[nodiscard]] std::vector<double> computing_to_predict_from() const;
  [[nodiscard]] std::vector<double> computing_to_judge_by() const;

  // What predictions do not know, in words; empty if all was measured.
  [[nodiscard]] std::string caveat() const;

  // The file's content, apart from the file of trace events that it refers to.
  [[nodiscard]] std::string to_json(std::string_view trace_events) const;
  // Throws a usage error that begins with `name` and says what is wrong: not JSON, another format
  // or kind, fewer than four iterations, layers with other tensors than the network, or a number
  // that is negative or not finite.
  static MeasuredProfile parse(std::string_view text, const std::string& name);
};

}  // namespace outpace::throughput
