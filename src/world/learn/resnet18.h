// resnet18 for small images: He et al., "Deep Residual Learning for Image Recognition" (CVPR 2016),
// table 1, with the stem that small images take: a 3x3 convolution of stride 1 and no pooling.
//
// Four stages of two blocks each, with 64, 128, 256 and 512 planes, the last three at half the
// side; the mean over all places; a linear layer to the classes. `width` is the number of planes
// of the first stage, and scales all. Tensors have the names of torchvision's resnet18.
//
// Batch normalisation is as in the paper. A training pass leaves the mini-batch's own mean and
// variance in the buffers running_mean and running_var, for the server to average (network.h).

#pragma once

#include <cstdint>

#include "base/spec.h"
#include "learn/dataset.h"

namespace torch::nn {
class Sequential;
}

namespace outpace::learn {

inline constexpr std::size_t kResnet18SideMin = 16;

[[nodiscard]] std::uint64_t read_resnet18_width(SpecReader& reader);

// From [n, channels, height, width] to [n, classes]. REQUIRES: images of at least
// kResnet18SideMin on each side.
[[nodiscard]] torch::nn::Sequential make_resnet18(std::uint64_t width, const DataShape& data);

}  // namespace outpace::learn
