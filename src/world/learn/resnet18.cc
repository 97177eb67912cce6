// Tested by src/world/learn/network_test.cc.

#include "learn/resnet18.h"

#include <memory>
#include <string>

#include <torch/nn.h>

namespace outpace::learn {
namespace {

constexpr std::uint64_t kWidth = 64;
constexpr std::uint64_t kWidthMost = 256;

torch::nn::Conv2d plain_convolution(std::int64_t from,
                                    std::int64_t to,
                                    std::int64_t kernel,
                                    std::int64_t stride) {
  torch::nn::Conv2d made(
      torch::nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2).bias(false));
  torch::nn::init::kaiming_normal_(made->weight, 0.0, torch::kFanOut, torch::kReLU);
  return made;
}

torch::nn::BatchNorm2d batch_norm(std::int64_t planes) {
  // The buffers are this mini-batch's own statistics; the server keeps the running mean of them.
  return torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(planes).momentum(1.0));
}

// relu(shortcut(x) + bn2(conv2(relu(bn1(conv1(x))))))
class BasicBlock final : public torch::nn::Module {
 public:
  BasicBlock(std::int64_t from, std::int64_t to, std::int64_t stride)
      : conv1_(register_module("conv1", plain_convolution(from, to, 3, stride))),
        bn1_(register_module("bn1", batch_norm(to))),
        conv2_(register_module("conv2", plain_convolution(to, to, 3, 1))),
        bn2_(register_module("bn2", batch_norm(to))) {
    if (from != to || stride != 1) {
      torch::nn::Sequential shortcut;
      shortcut->push_back(plain_convolution(from, to, 1, stride));
      shortcut->push_back(batch_norm(to));
      downsample_ = register_module("downsample", shortcut);
    }
  }

  torch::Tensor forward(const torch::Tensor& values) {
    const torch::Tensor hidden = torch::relu(bn1_(conv1_(values)));
    const torch::Tensor change = bn2_(conv2_(hidden));
    return torch::relu(change + (downsample_.is_empty() ? values : downsample_->forward(values)));
  }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  torch::nn::Sequential downsample_ = nullptr;
};

class Stage final : public torch::nn::Module {
 public:
  Stage(std::int64_t from, std::int64_t to, std::int64_t stride)
      : first_(register_module("0", std::make_shared<BasicBlock>(from, to, stride))),
        second_(register_module("1", std::make_shared<BasicBlock>(to, to, 1))) {}

  torch::Tensor forward(const torch::Tensor& values) {
    return second_->forward(first_->forward(values));
  }

 private:
  std::shared_ptr<BasicBlock> first_;
  std::shared_ptr<BasicBlock> second_;
};

}  // namespace

std::uint64_t read_resnet18_width(SpecReader& reader) {
  return reader.count("width", kWidth, 1, kWidthMost);
}

torch::nn::Sequential make_resnet18(std::uint64_t width, const DataShape& data) {
  auto planes = static_cast<std::int64_t>(width);
  torch::nn::Sequential layers;
  layers->push_back("conv1",
                    plain_convolution(static_cast<std::int64_t>(data.channels), planes, 3, 1));
  layers->push_back("bn1", batch_norm(planes));
  layers->push_back("relu", torch::nn::ReLU());
  layers->push_back("layer1", std::make_shared<Stage>(planes, planes, 1));
  for (const char* name : {"layer2", "layer3", "layer4"}) {
    layers->push_back(name, std::make_shared<Stage>(planes, 2 * planes, 2));
    planes *= 2;
  }
  layers->push_back("avgpool",
                    torch::nn::AdaptiveAvgPool2d(torch::nn::AdaptiveAvgPool2dOptions(1)));
  layers->push_back("flatten", torch::nn::Flatten());
  layers->push_back("fc", torch::nn::Linear(planes, static_cast<std::int64_t>(data.classes)));
  return layers;
}

}  // namespace outpace::learn
