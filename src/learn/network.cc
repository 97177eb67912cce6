#include "learn/network.h"

#include <algorithm>
#include <array>

#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/utils.h>

#undef CHECK  // The one that libtorch brings along.
#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::learn {
namespace {

const std::array<NetworkDoc, 2>& docs() {
  static const std::array<NetworkDoc, 2> kDocs{{
      {"mlp", "linear 784-128, ReLU, linear 128-10"},
      {"cnn",
       "three of (3x3 convolution, ReLU, 2x2 max pooling) to 16, 32, 32 planes, linear 288-10"},
  }};
  return kDocs;
}

// Layers are made one after the other, never as arguments of one call, whose order the compiler
// chooses: each draws its weights from the one stream of random numbers.
torch::nn::Sequential make_mlp() {
  torch::nn::Sequential layers;
  layers->push_back(torch::nn::Linear(784, 128));
  layers->push_back(torch::nn::ReLU());
  layers->push_back(torch::nn::Linear(128, 10));
  return layers;
}

torch::nn::Sequential make_cnn() {
  torch::nn::Sequential layers;
  int planes = 1;
  for (const int next : {16, 32, 32}) {
    layers->push_back(
        torch::nn::Conv2d(torch::nn::Conv2dOptions(planes, next, /*kernel_size=*/3).padding(1)));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(torch::nn::MaxPool2d(2));
    planes = next;
  }
  layers->push_back(torch::nn::Flatten());
  layers->push_back(torch::nn::Linear(288, 10));
  return layers;
}

}  // namespace

struct Network::Layers {
  std::vector<std::int64_t> image;  // Shape of one example.
  torch::nn::Sequential sequence;
  std::vector<torch::Tensor> parameters;  // In the manifest's order.

  explicit Layers(const Spec& spec) : sequence(nullptr) {
    if (spec.name == "mlp") {
      image = {784};
      sequence = make_mlp();
    } else if (spec.name == "cnn") {
      image = {1, 28, 28};
      sequence = make_cnn();
    } else {
      std::vector<std::string> names;
      for (const NetworkDoc& doc : docs()) {
        names.push_back(doc.name);
      }
      throw usage_error("unknown network '" + spec.name + "'" + suggestion(spec.name, names));
    }
    SpecReader("network", spec).finish();
    parameters = sequence->parameters();
  }
};

Network::Network(const Spec& spec) : layers_(std::make_unique<Layers>(spec)) {
  for (const auto& parameter : layers_->sequence->named_parameters()) {
    protocol::TensorInfo info{.name = parameter.key(), .shape = {}};
    for (const std::int64_t extent : parameter.value().sizes()) {
      info.shape.push_back(static_cast<std::uint64_t>(extent));
    }
    manifest_.tensors.push_back(std::move(info));
  }
}

Network::~Network() = default;

void Network::use(std::span<const float> weights) {
  CHECK(weights.size() == manifest_.numbers());
  const float* next = weights.data();
  for (torch::Tensor& parameter : layers_->parameters) {
    // A tensor knows no const; no pass writes to a parameter.
    parameter.set_data(torch::from_blob(const_cast<float*>(next), parameter.sizes()));
    next += parameter.numel();
  }
}

at::Tensor Network::forward(const at::Tensor& pixels, const Cancelled& cancelled) {
  const auto poll = [&cancelled] {
    if (cancelled && cancelled()) {
      throw GivenUp();
    }
  };
  std::vector<std::int64_t> shape{pixels.size(0)};
  shape.insert(shape.end(), layers_->image.begin(), layers_->image.end());
  torch::Tensor values = pixels.view(shape);
  for (torch::nn::AnyModule& layer : *layers_->sequence) {
    poll();
    values = layer.forward(values);
    if (cancelled && values.requires_grad()) {
      // Called when the backward pass is about to enter this layer; autograd passes on what it
      // throws, and forgets the pass.
      values.register_hook([poll](const torch::Tensor&) { poll(); });
    }
  }
  return values;
}

void Network::gradient(const at::Tensor& loss, std::span<float> gradient) {
  CHECK(gradient.size() == manifest_.numbers());
  // Not backward(): that would add to tensors that must be cleared first, and leave a part of a
  // gradient there if it was given up.
  const auto gradients = torch::autograd::grad({loss}, layers_->parameters);
  float* next = gradient.data();
  for (const torch::Tensor& one : gradients) {
    const torch::Tensor flat = one.contiguous();
    next = std::copy_n(flat.data_ptr<float>(), flat.numel(), next);
  }
}

std::vector<float> Network::initial_weights(const Spec& spec, std::uint64_t seed) {
  torch::manual_seed(seed);
  const Layers layers(spec);
  std::vector<float> weights;
  for (const torch::Tensor& parameter : layers.parameters) {
    const float* numbers = parameter.data_ptr<float>();
    weights.insert(weights.end(), numbers, numbers + parameter.numel());
  }
  return weights;
}

std::span<const NetworkDoc> network_docs() {
  return docs();
}

protocol::Manifest network_manifest(const Spec& spec) {
  return Network(spec).manifest();
}

}  // namespace outpace::learn
