#include "throughput/pytorch_trace.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "throughput/small_trace_test.h"

namespace outpace::throughput {
namespace {

std::string refusal_of_text(const std::string& text) {
  return refusal_of([&] { (void)read_trace(text); });
}

// A list of one event that has `members` besides its name.
std::string event_with(const std::string& members) {
  return R"([{"name": "aten::mm", "ph": "X", )" + members + "}]";
}

TEST(PytorchTrace, ReadsBothDialects) {
  const PytorchTrace kineto = read_trace(R"({
      "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "x", "list": [1, [2]]}],
      "traceEvents": [
        {"ph": "M", "name": "process_name", "ts": 0, "pid": 1, "args": {"name": "python"}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4711, "tid": 4712,
         "ts": 1468837789533.645, "dur": 2.5,
         "args": {"External id": 3, "Sequence number": 12, "Input Dims": [[2, 3], [3, 4]]}},
        {"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 4711, "tid": "4712",
         "ts": "1468837789530.645", "dur": "1.000", "args": {"Input dims": []}},
        {"ph": "X", "cat": "kernel", "name": "volta_sgemm", "pid": 0, "tid": 7,
         "ts": 1468837789540.645, "dur": 5, "args": {"External id": 3}},
        {"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 1, "tid": 1,
         "ts": 1, "dur": -1}
      ],
      "traceName": "t.json"})");
  EXPECT_EQ(kineto.dialect, TraceDialect::kKineto);
  EXPECT_EQ(kineto.events_seen, 5U);
  EXPECT_EQ(kineto.tracks, (std::vector<TraceTrack>{{"4711", "4712"}, {"0", "7"}}));
  ASSERT_EQ(kineto.events.size(), 3U);
  EXPECT_NEAR(kineto.events[0].begin, -3e-6, 1e-9);  // By begin; the first in the file is at 0.
  EXPECT_NEAR(kineto.events[0].end, -2e-6, 1e-9);
  EXPECT_EQ(kineto.events[0].sequence, -1);
  EXPECT_EQ(kineto.events[1].begin, 0.0);
  EXPECT_EQ(kineto.events[1].sequence, 12);
  EXPECT_TRUE(kineto.events[2].label.on_device);

  const PytorchTrace legacy = read_trace(
      R"([{"name": "aten::zeros", "ph": "X", "ts": 241, "dur": 95, "tid": 1,
           "pid": "CPU functions", "args": {}}])");
  EXPECT_EQ(legacy.dialect, TraceDialect::kLegacy);
  EXPECT_EQ(legacy.tracks, (std::vector<TraceTrack>{{"CPU functions", "1"}}));
  ASSERT_EQ(legacy.events.size(), 1U);
  EXPECT_NEAR(legacy.events[0].end, 95e-6, 1e-12);
}

TEST(PytorchTrace, KnowsTheBytesOfAGradient) {
  const auto bytes = [](const std::string& args) {
    TraceWriter trace(TraceDialect::kKineto);
    trace.add({.name = "autograd::AccumulateGrad", .begin = 0, .duration = 1, .args = args});
    return read_trace(trace.text()).events.at(0).gradient_bytes;
  };
  EXPECT_EQ(bytes(R"("Input Dims": [[5, 3]], "Input type": ["float"])"), 60.0);
  EXPECT_EQ(bytes(R"("Input type": ["c10::Half", "float"], "Input dims": [[5, 3], [7]])"), 30.0);
  EXPECT_EQ(bytes(R"("Input Dims": [[]], "Input type": ["double"])"), 8.0);  // A scalar.
  EXPECT_EQ(bytes(R"("Input Dims": [[5, 3]])"), -1.0);
  EXPECT_EQ(bytes(R"("Input Dims": [], "Input type": ["float"])"), -1.0);
  EXPECT_EQ(bytes(R"("Input Dims": [[-5]], "Input type": ["float"])"), -1.0);
  EXPECT_EQ(bytes(R"("Input Dims": [[[5], [3]]], "Input type": ["float"])"), -1.0);
  EXPECT_EQ(bytes(R"("Input Dims": [[5]], "Input type": ["TensorList", "float"])"), -1.0);
}

TEST(PytorchTrace, RefusesWhatIsNoTrace) {
  EXPECT_EQ(refusal_of_text(""), "t.json: is empty; expected an export of PyTorch's profiler");
  EXPECT_EQ(refusal_of_text("no"),
            "t.json: byte 2: is no JSON; expected an export of PyTorch's profiler");
  EXPECT_EQ(refusal_of_text("[}"),
            "t.json: byte 2: is no JSON; expected an export of PyTorch's profiler");
  const std::string neither =
      "t.json: is not a trace: expected a list of events, or an object with 'traceEvents'";
  EXPECT_EQ(refusal_of_text("7"), neither);
  EXPECT_EQ(refusal_of_text("\"words\""), neither);
  EXPECT_EQ(refusal_of_text("{\"a\": []}"), "t.json: is not a trace: it has no list 'traceEvents'");
  EXPECT_EQ(refusal_of_text("{\"traceEvents\": 3}"),
            "t.json: is not a trace: it has no list 'traceEvents'");
  EXPECT_EQ(refusal_of_text("[]"), "accepted");  // Without steps, which others say.
}

TEST(PytorchTrace, RefusesAnyPartOfItself) {
  const std::string whole = small_trace(1, {}).text();
  for (std::size_t size = 1; size < whole.size(); size += 7) {
    EXPECT_EQ(refusal_of_text(whole.substr(0, size)),
              fmt::format("t.json: is truncated: its JSON does not end within {} bytes", size));
  }
}

TEST(PytorchTrace, RefusesTimesThatNoTraceHas) {
  const auto refused = [](const std::string& what) { return "t.json: event 1: " + what; };
  EXPECT_EQ(refusal_of_text(event_with(R"("ts": -3, "dur": 1)")),
            refused("'ts' is -3; it takes microseconds, 0 to 1e+16"));
  EXPECT_EQ(refusal_of_text(event_with(R"("ts": 3, "dur": -1)")),
            refused("'dur' is -1; it takes microseconds, 0 to 1e+12"));
  EXPECT_EQ(refusal_of_text(event_with(R"("ts": 3, "dur": 1e300)")),
            refused("'dur' is 1e+300; it takes microseconds, 0 to 1e+12"));
  EXPECT_EQ(refusal_of_text(event_with(R"("ts": "soon", "dur": 1)")),
            refused("has no 'ts' that is a number"));
  EXPECT_EQ(refusal_of_text(event_with(R"("ts": 3, "dur": null)")),
            refused("has no 'dur' that is a number"));
  EXPECT_EQ(refusal_of_text(event_with(R"("ts": 1e999, "dur": 1)")),
            "t.json: byte 44: a number too large to be a time");
  EXPECT_NE(refusal_of_text(event_with(R"("ts": NaN, "dur": 1)")), "accepted");
}

TEST(PytorchTrace, HasBounds) {
  EXPECT_EQ(refusal_of_text(std::string(100'000, '[')),
            "t.json: is nested more than 64 deep; a trace is not");
  EXPECT_EQ(refusal_of_text("[\"" + std::string(std::size_t{17} << 20U, 'a')),
            "t.json: has a value of more than 16777216 bytes; a trace has none");
}

}  // namespace
}  // namespace outpace::throughput
