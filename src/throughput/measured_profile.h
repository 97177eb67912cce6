// What one worker and one server were seen to do, as a file: what predictions start from.
//
// A worker's iteration is computing, and the rest: the gradient's way to the server, what the
// server does with it, and the weights' way back. The rest is split by what was measured apart:
//
//   rest = 2 message_seconds + 2 payload byte_seconds + apply_seconds
//
// message_seconds is of a message of no size one way (threads, system calls), byte_seconds what a
// byte costs both processors on its way (serialising, copying, parsing), apply_seconds what the
// server needs for a gradient and an update of the weights.
//
// The iterations are interleaved: those of even number are for predicting, those of odd number for
// judging predictions (live/paced_source.h), so that no prediction is judged by what it was made
// from.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/messages.h"

namespace outpace::throughput {

struct MeasuredIteration {
  double compute_seconds;
  double rest_seconds;

  bool operator==(const MeasuredIteration&) const = default;
};

// Of a layer, the medians.
struct MeasuredLayer {
  double forward_seconds;
  double backward_seconds;

  bool operator==(const MeasuredLayer&) const = default;
};

// What a cost that was not measured is taken for.
inline constexpr const char* kTakenAsZero = "zero";
inline constexpr const char* kTakenFromOptimizer = "optimizer";  // PyTorch's own, in a trace.

struct MeasuredProfile {
  std::string network;  // As the user wrote it.
  std::string data;
  std::uint32_t batch = 0;  // Examples a mini-batch.
  std::uint64_t dataset_examples = 0;
  protocol::Manifest manifest;  // 4 bytes a number.
  std::vector<MeasuredIteration> iterations;
  std::vector<MeasuredLayer> layers;  // In the order of the forward pass; empty if not known.
  double apply_seconds = 0.0;
  double message_seconds = 0.0;
  double byte_seconds = 0.0;
  // The same two of a ring's sums, between two workers (collective/sum_cost.h). Nothing: as above.
  struct Sums {
    double message_seconds;
    double byte_seconds;
    bool operator==(const Sums&) const = default;
  };
  std::optional<Sums> sums;
  // Of apply_seconds, message_seconds and byte_seconds those that nobody measured, as in a profile
  // that was made from a trace; and what each was taken for.
  std::map<std::string, std::string> not_measured;

  [[nodiscard]] double payload_bytes() const;
  // Seconds that computing took in the iterations of even number, or of odd number.
  [[nodiscard]] std::vector<double> computing_to_predict_from() const;
  [[nodiscard]] std::vector<double> computing_to_judge_by() const;

  // What predictions do not know, in words; empty if all was measured.
  [[nodiscard]] std::string caveat() const;

  // As it is in the file, but for the trace that the file has beside it.
  [[nodiscard]] std::string to_json(std::string_view trace_events) const;
  // Throws a usage error that begins with `name` and says what is wrong: no JSON, another format or
  // kind, fewer than four iterations, a number that is not finite or is negative.
  static MeasuredProfile parse(std::string_view text, const std::string& name);
};

}  // namespace outpace::throughput
