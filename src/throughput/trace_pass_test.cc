#include "throughput/trace_pass.h"

#include <gtest/gtest.h>

#include "throughput/small_trace_test.h"

namespace outpace::throughput {
namespace {

TracePass pass_in(const TraceWriter& writer) {
  const PytorchTrace trace = read_trace(writer.text());
  return pass_of(trace, steps_of(trace, "t.json"));
}

TEST(TracePass, TellsLayersBySequenceNumber) {
  const TracePass pass = pass_in(small_trace(6, {}));
  ASSERT_EQ(pass.marks.size(), 5U);
  const std::vector<MeasuredLayer> layers = layers_of(pass.marks);
  ASSERT_EQ(layers.size(), 2U);
  // From the step's begin to the second layer's; that one with the loss.
  EXPECT_NEAR(layers[0].forward_seconds, 150 * kMicro, 1e-12);
  EXPECT_NEAR(layers[1].forward_seconds, 250 * kMicro, 1e-12);
  EXPECT_NEAR(layers[1].backward_seconds, 300 * kMicro, 1e-12);
  EXPECT_NEAR(layers[0].backward_seconds, 100 * kMicro, 1e-12);
}

// Of a node from 400.9 to 440.2 the legacy dialect has 400 and 39; of its part at 439.8 it has 439.
TEST(TracePass, AllowsForRounding) {
  TraceWriter trace = small_trace(6, {});
  trace.add({"aten::empty", 3440, 0});
  trace.add({"aten::empty", 3439, 2});
  EXPECT_EQ(pass_in(trace).gradient_unknown, "");
  EXPECT_EQ(pass_in(trace).marks.size(), 5U);
}

TEST(TracePass, TellsNoLayersWithoutNumbersOrOnAnAccelerator) {
  TraceWriter on_device = small_trace(6, {});
  on_device.add({"volta_sgemm", 100, 600, "kernel", "7"});
  EXPECT_TRUE(pass_in(on_device).marks.empty());
  TraceWriter unnumbered(TraceDialect::kLegacy);
  for (int i = 0; i < 6; ++i) {
    unnumbered.add({"aten::linear", 1000.0 * i, 100});
    unnumbered.add({"autograd::engine::evaluate_function: AddmmBackward0", 1000.0 * i + 200, 100});
    unnumbered.add({"Optimizer.step#SGD.step", 1000.0 * i + 400, 100});
  }
  EXPECT_TRUE(pass_in(unnumbered).marks.empty());
}

TEST(TracePass, AddsUpShapesOfGradients) {
  EXPECT_EQ(pass_in(small_trace(6, {})).gradient_bytes, (std::vector<double>{20, 60}));
  const TracePass unknown = pass_in(small_trace(6, {.shapes = false}));
  EXPECT_TRUE(unknown.gradient_bytes.empty());
  EXPECT_EQ(unknown.gradient_unknown, "shapes of gradients were not recorded (record_shapes=True)");
}

TEST(TracePass, SaysWhyTheGradientIsNotKnown) {
  TraceWriter differs = small_trace(6, {});
  differs.add_gradient(3810, 5, "7");
  EXPECT_EQ(pass_in(differs).gradient_unknown, "gradients are not of the same sizes in all steps");
  // Gradients that are accumulated: a second pass within a step.
  TraceWriter twice = small_trace(6, {});
  twice.add({"aten::linear", 3810, 5});
  twice.add_node("AddmmBackward0", 3820, 5, 39);
  const TracePass pass = pass_in(twice);
  EXPECT_EQ(pass.gradient_unknown, "a step has 2 backward passes");
  EXPECT_TRUE(pass.gradient_bytes.empty());
  EXPECT_TRUE(pass.marks.empty());
}

}  // namespace
}  // namespace outpace::throughput
