// Tested by src/world/learn/network_test.cc.

#include "learn/residual.h"

#include <memory>

#include <torch/nn.h>

namespace outpace::learn {
namespace {

constexpr std::int64_t kPlanesOfAGroup = 16;

torch::nn::Conv2d convolution(std::int64_t from,
                              std::int64_t to,
                              std::int64_t kernel,
                              std::int64_t stride) {
  // The normalisation that follows has the bias.
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2).bias(false));
}

torch::nn::GroupNorm normalisation(std::int64_t planes) {
  return torch::nn::GroupNorm(torch::nn::GroupNormOptions(planes / kPlanesOfAGroup, planes));
}

// relu(shortcut(x) + norm(conv(relu(norm(conv(x)))))); [n, from, h, w] to [n, to, h / stride,
// w / stride], rounded up.
class Block final : public torch::nn::Module {
 public:
  Block(std::int64_t from, std::int64_t to, std::int64_t stride)
      : convolution1_(register_module("convolution1", convolution(from, to, 3, stride))),
        normalisation1_(register_module("normalisation1", normalisation(to))),
        convolution2_(register_module("convolution2", convolution(to, to, 3, 1))),
        normalisation2_(register_module("normalisation2", normalisation(to))) {
    if (from != to || stride != 1) {
      shortcut_ = register_module("shortcut", convolution(from, to, 1, stride));
    }
  }

  torch::Tensor forward(const torch::Tensor& values) {
    const torch::Tensor hidden = torch::relu(normalisation1_(convolution1_(values)));
    const torch::Tensor change = normalisation2_(convolution2_(hidden));
    return torch::relu(change + (shortcut_.is_empty() ? values : shortcut_(values)));
  }

 private:
  torch::nn::Conv2d convolution1_;
  torch::nn::GroupNorm normalisation1_;
  torch::nn::Conv2d convolution2_;
  torch::nn::GroupNorm normalisation2_;
  torch::nn::Conv2d shortcut_ = nullptr;
};

}  // namespace

torch::nn::Sequential make_resnet8(const DataShape& data) {
  torch::nn::Sequential layers;
  layers->push_back(convolution(static_cast<std::int64_t>(data.channels), 16, 3, 1));
  layers->push_back(normalisation(16));
  layers->push_back(torch::nn::ReLU());
  layers->push_back(std::make_shared<Block>(16, 16, 1));
  layers->push_back(std::make_shared<Block>(16, 32, 2));
  layers->push_back(std::make_shared<Block>(32, 64, 2));
  layers->push_back(torch::nn::AdaptiveAvgPool2d(torch::nn::AdaptiveAvgPool2dOptions(1)));
  layers->push_back(torch::nn::Flatten());
  layers->push_back(torch::nn::Linear(64, static_cast<std::int64_t>(data.classes)));
  return layers;
}

}  // namespace outpace::learn
