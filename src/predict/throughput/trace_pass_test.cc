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

// A node from 400.9 to 440.2 is 400 and 39 in the legacy dialect; its part at 439.8 is 439.
TEST(TracePass, AllowsForRounding) {
  TraceWriter trace = small_trace(6, {});
  trace.add({"aten::empty", 3440, 0});
  trace.add({"aten::empty", 3439, 2});
  EXPECT_EQ(pass_in(trace).gradient_unknown, "");
  EXPECT_EQ(pass_in(trace).marks.size(), 5U);
}

TEST(TracePass, TellsWhichLayerHasWhichGradients) {
  EXPECT_EQ(pass_in(small_trace(6, {})).layer_bytes,
            (std::vector<std::vector<double>>{{20}, {60}}));
  EXPECT_TRUE(pass_in(small_trace(6, {.shapes = false})).layer_bytes.empty());
}

// A kernel, and the call that starts it.
struct Started {
  double called;
  double begin;
  double duration;
};

void add_kernels(TraceWriter& trace, int correlation, const std::vector<Started>& kernels) {
  for (const Started& one : kernels) {
    const std::string args = fmt::format(R"("correlation": {}, "stream": 7)", correlation++);
    trace.add({"cudaLaunchKernel", one.called, 4, "cuda_runtime", "1", args});
    trace.add({"volta_sgemm_128x64_nn", one.begin, one.duration, "kernel", "7", args});
  }
}

// The processor goes through the layers' forward passes at 50 and 150 us, and through their
// backward passes from 400 and 700 us on; the accelerator is 500 us late and takes longer. The
// second layer's forward pass has two kernels and the loss. The optimizer's kernel is of no layer.
TEST(TracePass, TellsLayersOnAnAcceleratorByCorrelationIds) {
  TraceWriter trace = small_trace(6, {});
  for (int i = 0; i < 6; ++i) {
    const double begin = 1000.0 * i;
    add_kernels(trace,
                100 * i,
                {{begin + 70, begin + 570, 90},
                 {begin + 170, begin + 660, 50},
                 {begin + 200, begin + 710, 50},
                 {begin + 360, begin + 760, 20},
                 {begin + 450, begin + 780, 400},
                 {begin + 710, begin + 1180, 120},
                 {begin + 870, begin + 1300, 30}});
  }
  const TracePass pass = pass_in(trace);
  ASSERT_EQ(pass.marks.size(), 5U);
  const std::vector<MeasuredLayer> layers = layers_of(pass.marks);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_NEAR(layers[0].forward_seconds, 90 * kMicro, 1e-12);
  EXPECT_NEAR(layers[1].forward_seconds, 120 * kMicro, 1e-12);
  EXPECT_NEAR(layers[1].backward_seconds, 400 * kMicro, 1e-12);
  EXPECT_NEAR(layers[0].backward_seconds, 120 * kMicro, 1e-12);
  EXPECT_EQ(pass.layer_bytes, (std::vector<std::vector<double>>{{20}, {60}}));
}

TEST(TracePass, TellsNoLayersWithoutNumbersOrCorrelationIds) {
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
