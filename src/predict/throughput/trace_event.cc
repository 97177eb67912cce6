#include "throughput/trace_event.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace outpace::throughput {
namespace {

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool names_nccl(std::string_view name) {
  constexpr std::string_view kNccl = "nccl";
  return std::search(name.begin(), name.end(), kNccl.begin(), kNccl.end(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         }) != name.end();
}

bool is_collective(std::string_view name) {
  constexpr std::array<std::string_view, 6> kPrefixes{
      "c10d::", "c10d_functional::", "_c10d_functional::", "gloo:", "nccl:", "record_param_comms"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
    return name.starts_with(prefix);
  });
}

// Such as cudaLaunchKernelExC, hipMemcpyAsync; of the calls that start nothing, none is so called.
bool starts_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 3> kWords{"Launch", "Memcpy", "Memset"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

std::optional<TraceLabel> label_on_device(const TraceName& event) {
  if (event.category == "gpu_user_annotation") {
    if (event.name.starts_with("Optimizer.step#")) {
      return TraceLabel{TraceRole::kOptimizer, true};
    }
    // The collective's kernel has an event of its own.
    return std::nullopt;
  }
  const bool collective = event.category == "collective_comm" || names_nccl(event.name);
  return TraceLabel{collective ? TraceRole::kCommunication : TraceRole::kKernel, true};
}

std::optional<TraceLabel> label_on_processor(const TraceName& event) {
  const std::string_view name = event.name;
  if (name.starts_with("ProfilerStep#")) {
    return TraceLabel{TraceRole::kStep, false};
  }
  if (name.starts_with("Optimizer.step#")) {
    return TraceLabel{TraceRole::kOptimizer, false};
  }
  if (is_collective(name)) {
    return TraceLabel{TraceRole::kCommunication, false};
  }
  if (event.category == "user_annotation") {
    return std::nullopt;
  }
  if (name.starts_with("autograd::engine::evaluate_function: ")) {
    return TraceLabel{TraceRole::kBackward, false};
  }
  if (name.ends_with("::AccumulateGrad")) {
    return TraceLabel{TraceRole::kGradient, false};
  }
  // Operations have their library before the name; a user's annotations rarely do.
  if (name.find("::") != std::string_view::npos) {
    return TraceLabel{TraceRole::kOperation, false};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TraceLabel> label_of(const TraceName& event) {
  constexpr std::array<std::string_view, 8> kDevice{"kernel",
                                                    "Kernel",
                                                    "gpu_memcpy",
                                                    "gpu_memset",
                                                    "Memcpy",
                                                    "Memset",
                                                    "gpu_user_annotation",
                                                    "collective_comm"};
  constexpr std::array<std::string_view, 4> kProcessor{"", "cpu_op", "Operator", "user_annotation"};
  const bool legacy_device = event.category.empty() && event.process.starts_with("CUDA functions");
  if (legacy_device || is_one_of(event.category, kDevice)) {
    return label_on_device(event);
  }
  // The runtime's calls, of CUDA and of ROCm.
  constexpr std::array<std::string_view, 4> kDriver{
      "cuda_runtime", "cuda_driver", "hip_runtime", "Runtime"};
  if (is_one_of(event.category, kDriver)) {
    return starts_kernel(event.name) ? std::optional(TraceLabel{TraceRole::kLaunch, false})
                                     : std::nullopt;
  }
  return is_one_of(event.category, kProcessor) ? label_on_processor(event) : std::nullopt;
}

}  // namespace outpace::throughput
