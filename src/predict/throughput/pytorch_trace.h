// Reads a file of PyTorch's profiler event by event and keeps the events that have a role
// (trace_event.h).
//
// There are two dialects. Kineto writes an object whose "traceEvents" is a list of events with
// categories and, if shapes were recorded, "args" with "Input Dims". The legacy dialect, of
// torch.autograd.profiler and of builds without Kineto, is the bare list, without categories or
// shapes. Times are in microseconds.
//
// The text arrives in blocks and is never in memory as a whole. A kept event takes 40 bytes. The
// file is not trusted: everything that could grow is bounded.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/trace_event.h"

namespace outpace::throughput {

inline constexpr std::uint64_t kTraceBytesMax = std::uint64_t{8} << 30U;  // Once unpacked.
inline constexpr std::size_t kTraceEventsMax = 10'000'000;  // Events with a role: 400 MB.

enum class TraceDialect : std::uint8_t { kKineto, kLegacy };
// "Kineto", "legacy".
[[nodiscard]] std::string_view name(TraceDialect dialect);

// A thread of a process.
struct TraceTrack {
  std::string process;
  std::string thread;

  bool operator==(const TraceTrack&) const = default;
};

struct PytorchTrace {
  TraceDialect dialect = TraceDialect::kLegacy;
  std::uint64_t events_seen = 0;  // With or without a role.
  std::vector<TraceTrack> tracks;
  std::vector<TraceEvent> events;  // By begin; of those with the same begin, the longest first.
};

// Returns the next piece of the text, valid until the next call; empty at the end.
using NextBlock = std::function<std::string_view()>;

// Throws a usage error that begins with `name` and says what is wrong: not JSON, truncated, not a
// trace, an event with impossible times, or a bound exceeded.
[[nodiscard]] PytorchTrace read_pytorch_trace(const NextBlock& next, const std::string& name);

}  // namespace outpace::throughput
