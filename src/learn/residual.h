// resnet8: a residual network of eight layers for small images.
//
// 3x3 convolution to 16 planes; three stages of one block each, of 16, 32, 64 planes, the latter
// two at half the side; the mean over all places; linear to the classes. A block adds what two 3x3
// convolutions make of its input to that input, taken through a 1x1 convolution where the planes
// change. He et al., "Deep Residual Learning for Image Recognition" (CVPR 2016), section 4.2, with
// one block a stage.
//
// Group normalisation (Wu & He, "Group Normalization", ECCV 2018, table 3: 16 planes a group) where
// the paper has batch normalisation: that would keep running statistics in buffers, and only
// parameters travel between server and workers, so that nobody but the worker itself would have
// those that belong to the weights. It would also make a gradient depend on how large a mini-batch
// a policy hands out.

#pragma once

#include "learn/dataset.h"

namespace torch::nn {
class Sequential;
}

namespace outpace::learn {

// From [n, 1, height, width] to [n, classes]. REQUIRES: images.
[[nodiscard]] torch::nn::Sequential make_resnet8(const DataShape& data);

}  // namespace outpace::learn
