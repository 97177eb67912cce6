#include "throughput/trace_event.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

constexpr TraceLabel on_processor(TraceRole role) {
  return {role, false};
}
constexpr TraceLabel on_device(TraceRole role) {
  return {role, true};
}

std::optional<TraceLabel> label(std::string_view name,
                                std::string_view category,
                                std::string_view process = "") {
  return label_of({name, category, process});
}

TEST(TraceLabel, NamesDoWhereThereAreNoCategories) {
  for (const std::string_view category : {"", "cpu_op", "Operator"}) {
    EXPECT_EQ(label("ProfilerStep#3", category), on_processor(TraceRole::kStep));
    EXPECT_EQ(label("Optimizer.step#SGD.step", category), on_processor(TraceRole::kOptimizer));
    EXPECT_EQ(label("autograd::engine::evaluate_function: AddmmBackward0", category),
              on_processor(TraceRole::kBackward));
    EXPECT_EQ(label("autograd::AccumulateGrad", category), on_processor(TraceRole::kGradient));
    EXPECT_EQ(label("aten::conv2d", category), on_processor(TraceRole::kOperation));
    EXPECT_EQ(label("c10d::allreduce_", category), on_processor(TraceRole::kCommunication));
    EXPECT_EQ(label("gloo:all_reduce", category), on_processor(TraceRole::kCommunication));
    EXPECT_EQ(label("Optimizer.zero_grad#SGD.zero_grad", category), std::nullopt);
    EXPECT_EQ(label("AddmmBackward0", category), std::nullopt);
    EXPECT_EQ(label("my own words", category), std::nullopt);
  }
}

TEST(TraceLabel, AnnotationsAreNoWork) {
  EXPECT_EQ(label("ProfilerStep#3", "user_annotation"), on_processor(TraceRole::kStep));
  EXPECT_EQ(label("nccl:all_reduce", "user_annotation"), on_processor(TraceRole::kCommunication));
  EXPECT_EQ(label("my::own", "user_annotation"), std::nullopt);
  EXPECT_EQ(label("aten::conv2d", "python_function"), std::nullopt);
  EXPECT_EQ(label("cudaStreamSynchronize", "cuda_runtime"), std::nullopt);
}

TEST(TraceLabel, CallsStartKernels) {
  for (const char* const name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"}) {
    EXPECT_EQ(label(name, "cuda_runtime"), on_processor(TraceRole::kLaunch));
  }
  EXPECT_EQ(label("cuLaunchKernelEx", "cuda_driver"), on_processor(TraceRole::kLaunch));
}

TEST(TraceLabel, AcceleratorsHaveTheirOwnTime) {
  EXPECT_EQ(label("volta_sgemm_128x64_nn", "kernel"), on_device(TraceRole::kKernel));
  EXPECT_EQ(label("Memcpy HtoD", "gpu_memcpy"), on_device(TraceRole::kKernel));
  EXPECT_EQ(label("ncclDevKernel_AllReduce_Sum_f32", "kernel"),
            on_device(TraceRole::kCommunication));
  EXPECT_EQ(label("ncclKernel_AllReduce_RING_LL", "Kernel"), on_device(TraceRole::kCommunication));
  EXPECT_EQ(label("allreduce", "collective_comm"), on_device(TraceRole::kCommunication));
  EXPECT_EQ(label("Optimizer.step#SGD.step", "gpu_user_annotation"),
            on_device(TraceRole::kOptimizer));
  EXPECT_EQ(label("ProfilerStep#3", "gpu_user_annotation"), std::nullopt);
  EXPECT_EQ(label("volta_sgemm_128x64_nn", "", "CUDA functions"), on_device(TraceRole::kKernel));
}

}  // namespace
}  // namespace outpace::throughput
