#include "throughput/trace_steps.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "throughput/small_trace_test.h"

namespace outpace::throughput {
namespace {

constexpr double kNear = 1e-12;

TraceSteps steps_in(const TraceWriter& trace) {
  return steps_of(read_trace(trace.text()), "t.json");
}

void expect_time_of_small_step(const TraceStep& step) {
  EXPECT_NEAR(step.length(), 1000 * kMicro, kNear);
  EXPECT_NEAR(step.forward, 350 * kMicro, kNear);
  EXPECT_NEAR(step.backward, 400 * kMicro, kNear);
  EXPECT_NEAR(step.optimizer, 100 * kMicro, kNear);
  EXPECT_EQ(step.communication, 0.0);
  EXPECT_NEAR(step.other(), 150 * kMicro, kNear);
  EXPECT_NEAR(step.computing(), 900 * kMicro, kNear);
}

TEST(TraceSteps, AreThoseOfTheProfiler) {
  for (const TraceDialect dialect : {TraceDialect::kKineto, TraceDialect::kLegacy}) {
    TraceWriter trace = small_trace(6, {.dialect = dialect});
    trace.add({"ProfilerStep#6", 6000, 20, "user_annotation"});  // What is left at the end.
    const TraceSteps found = steps_in(trace);
    EXPECT_EQ(found.source, StepSource::kProfilerStep);
    EXPECT_EQ(found.without_backward, 1U);
    ASSERT_EQ(found.steps.size(), 5U);
    for (const TraceStep& step : found.steps) {
      expect_time_of_small_step(step);
    }
  }
}

TEST(TraceSteps, EndWithTheOptimizerWhereNobodyCalledStep) {
  TraceWriter trace = small_trace(6, {.dialect = TraceDialect::kLegacy, .profiler_step = false});
  // A second optimizer after the first is of the same step.
  trace.add({"Optimizer.step#Adam.step", 5960, 40, "user_annotation"});
  const TraceSteps found = steps_in(trace);
  EXPECT_EQ(found.source, StepSource::kOptimizer);
  ASSERT_EQ(found.steps.size(), 5U);
  expect_time_of_small_step(found.steps.front());
  EXPECT_NEAR(found.steps.back().length(), 1050 * kMicro, kNear);
  EXPECT_NEAR(found.steps.back().optimizer, 140 * kMicro, kNear);
}

TEST(TraceSteps, AreCountedOnce) {
  TraceWriter trace = small_trace(6, {});
  for (int i = 0; i < 3; ++i) {  // Another thread, as an accelerator's stream, repeats some.
    trace.add({"ProfilerStep#7", 900.0 * i, 900, "user_annotation", "2"});
  }
  EXPECT_EQ(steps_in(trace).steps.size(), 5U);
}

// DDP on processors: the call in a node of the backward pass, Gloo on a thread of its own.
TEST(TraceSteps, LeaveOutCommunicationThatNothingHides) {
  TraceWriter trace = small_trace(6, {});
  for (int i = 0; i < 6; ++i) {
    trace.add({"c10d::allreduce_", 1000.0 * i + 650, 10});
    trace.add({"gloo:all_reduce", 1000.0 * i + 660, 180, "cpu_op", "9"});
    trace.add({"aten::stack", 1000.0 * i, 990, "cpu_op", "8"});  // A data loader's.
  }
  const TraceStep step = steps_in(trace).steps.front();
  // The call's own 10, and from the end of the backward pass at 800 to 840.
  EXPECT_NEAR(step.communication, 50 * kMicro, kNear);
  EXPECT_NEAR(step.backward, 390 * kMicro, kNear);
  EXPECT_NEAR(step.forward, 350 * kMicro, kNear);
  EXPECT_NEAR(step.computing(), 850 * kMicro, kNear);
}

// The processor runs ahead of an accelerator: what it does hides no collective.
TEST(TraceSteps, GoByTheKernelsOfAnAccelerator) {
  TraceWriter trace = small_trace(6, {});
  for (int i = 0; i < 6; ++i) {
    const double begin = 1000.0 * i;
    trace.add({"volta_sgemm", begin + 100, 600, "kernel", "7"});
    trace.add({"Memcpy HtoD", begin + 50, 50, "gpu_memcpy", "7"});
    trace.add({"ncclDevKernel_AllReduce_Sum_f32", begin + 500, 300, "kernel", "8"});
    trace.add({"nccl:all_reduce", begin + 440, 30, "user_annotation"});
    trace.add({"Optimizer.step#SGD.step", begin + 900, 70, "gpu_user_annotation", "7"});
    trace.add({"sgd", begin + 900, 70, "kernel", "7"});
  }
  const TraceSteps found = steps_in(trace);
  EXPECT_TRUE(found.has_device);
  const TraceStep step = found.steps.front();
  EXPECT_NEAR(step.device_busy, 720 * kMicro, kNear);
  EXPECT_NEAR(step.communication, 100 * kMicro, kNear);  // From 700 to 800.
  EXPECT_NEAR(step.optimizer, 70 * kMicro, kNear);
  EXPECT_NEAR(step.computing(), 830 * kMicro, kNear);
}

TEST(TraceSteps, AreRefusedInOneLine) {
  const auto refused = [](const TraceWriter& trace) {
    return refusal_of([&] { (void)steps_in(trace); });
  };
  EXPECT_EQ(refused(TraceWriter(TraceDialect::kLegacy)),
            "t.json: no backward pass (autograd::engine::evaluate_function) among its 0 events; "
            "expected a trace of training by PyTorch's profiler");
  TraceWriter no_steps(TraceDialect::kLegacy);
  no_steps.add_node("AddmmBackward0", 0, 1, 0);
  EXPECT_EQ(refused(no_steps),
            "t.json: no steps: neither ProfilerStep#N nor Optimizer.step; give "
            "torch.profiler.profile a schedule, and call prof.step() after each step");
  EXPECT_EQ(
      refused(small_trace(4, {})),
      "t.json: 4 steps with a backward pass; 4 are needed after one for warm-up; profile more "
      "steps");
}

}  // namespace
}  // namespace outpace::throughput
