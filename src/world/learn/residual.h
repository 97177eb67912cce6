// resnet8: a residual network of eight layers for small images.
//
// A 3x3 convolution to 16 planes; three stages of one block each, with 16, 32 and 64 planes, the
// last two at half the side; the mean over all places; a linear layer to the classes. A block adds
// the result of two 3x3 convolutions to its input. The input passes a 1x1 convolution where the
// number of planes changes. He et al., "Deep Residual Learning for Image Recognition" (CVPR 2016),
// section 4.2, with one block per stage.
//
// The paper's batch normalisation is replaced by group normalisation (Wu & He, "Group
// Normalization", ECCV 2018, table 3: 16 planes per group). With batch normalisation a gradient
// would depend on the size of the mini-batch that a policy hands out; resnet18 has it.

#pragma once

#include "learn/dataset.h"

namespace torch::nn {
class Sequential;
}

namespace outpace::learn {

// From [n, channels, height, width] to [n, classes]. REQUIRES: images.
[[nodiscard]] torch::nn::Sequential make_resnet8(const DataShape& data);

}  // namespace outpace::learn
