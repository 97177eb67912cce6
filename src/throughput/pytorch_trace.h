// A file of PyTorch's profiler, read event by event: what of it has a role (trace_event.h).
//
// Two dialects. Kineto: an object whose "traceEvents" is a list of events with categories; and, if
// shapes were recorded, "args" with "Input Dims". Legacy, of torch.autograd.profiler and of builds
// without Kineto: the bare list, without categories or shapes. Times are microseconds.
//
// The text comes block by block and is never whole in memory; what is kept of an event takes 40
// bytes. A file is a stranger's: all that could grow has a bound.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/trace_event.h"

namespace outpace::throughput {

inline constexpr std::uint64_t kTraceBytesMax = std::uint64_t{8} << 30U;  // Once unpacked.
inline constexpr std::size_t kTraceEventsMax = 10'000'000;                // With a role: 400 MB.

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
  std::uint64_t events_seen = 0;  // With a role or without.
  std::vector<TraceTrack> tracks;
  std::vector<TraceEvent> events;  // By begin; of the same begin the longer first.
};

// The next piece of the text, valid until the next call; empty at its end.
using NextBlock = std::function<std::string_view()>;

// Throws a usage error that begins with `name` and says what is wrong: no JSON, cut short, no
// trace, an event whose times no trace can have, or more than the bounds.
[[nodiscard]] PytorchTrace read_pytorch_trace(const NextBlock& next, const std::string& name);

}  // namespace outpace::throughput
