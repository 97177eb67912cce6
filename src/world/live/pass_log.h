// What a worker notes for `outpace profile`: when each mini-batch was taken, when the passes of its
// layers began, and when its gradient left.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "protocol/messages.h"

namespace outpace::live {

// One mini-batch, in seconds of the monotonic clock. `between`: as throughput::PassMarks.
struct NotedPass {
  double begin = 0.0;
  std::vector<double> between{};
  double end = 0.0;

  bool operator==(const NotedPass&) const = default;
};

// All that a worker noted, as its file has it.
struct NotedPasses {
  protocol::Manifest manifest;
  std::uint64_t examples = 0;  // In the data set.
  std::vector<NotedPass> passes{};
  // By layer of the last pass, in the order of the forward pass: how many weights it needs, with
  // those of the layers before.
  std::vector<std::size_t> needs{};

  bool operator==(const NotedPasses&) const = default;
};

[[nodiscard]] std::string to_json(const NotedPasses& noted);
// Throws Error if it is not what to_json() writes.
[[nodiscard]] NotedPasses parse_noted(const std::string& text);

class PassLog {
 public:
  // An empty path: it notes nothing.
  explicit PassLog(std::string path) : path_(std::move(path)) {}

  void joined(const protocol::Manifest& manifest, std::uint64_t examples);
  // The worker has a mini-batch and its weights.
  void taken();
  // A layer's forward pass began `seconds_ago`, which needs the first `numbers` weights; or, with
  // 0, its backward pass. Not earlier than what was noted before.
  void layer(std::size_t numbers, double seconds_ago = 0.0);
  // The gradient is there. A mini-batch without one is forgotten.
  void computed();
  // Writes the file, the first time. Throws Error if it cannot.
  void close();

 private:
  const std::string path_;
  NotedPasses noted_;
  NotedPass pass_;
  std::vector<std::size_t> needs_;
  bool closed_ = false;
};

}  // namespace outpace::live
