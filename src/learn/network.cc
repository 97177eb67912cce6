#include "learn/network.h"

#include <algorithm>
#include <array>
#include <utility>

#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/residual.h"
#include "learn/transformer.h"

namespace outpace::learn {
namespace {

constexpr std::size_t kCnnSideMin = 8;  // Three poolings halve a side, rounding down.

const std::array<NetworkDoc, 4>& kinds_of_network() {
  static const std::array<NetworkDoc, 4> kDocs{{
      {"mlp", "mlp", "linear to 128, ReLU, linear to the classes; images or features"},
      {"cnn",
       "cnn",
       "three of (3x3 convolution, ReLU, 2x2 max pooling) to 16, 32, 32 planes, linear to the "
       "classes; images"},
      {"resnet8",
       "resnet8",
       "3x3 convolution, three residual blocks of 16, 32, 64 planes with group normalisation, mean "
       "over places, linear to the classes; images"},
      {"charlm",
       "charlm[:layers=2,width=64,heads=4]",
       "causal transformer on characters, pre-norm, learned positions; text"},
  }};
  return kDocs;
}

void require(const Spec& spec, const DataShape& data, bool fits, const char* needs) {
  if (!fits) {
    throw usage_error("network '" + spec.text + "' needs " + needs + "; the data set has " +
                      to_words(data) + ", for which there is " +
                      (data.kind == DataKind::kText ? "charlm" : "mlp"));
  }
}

// Layers are made one after another and never as arguments of one call, because the compiler
// chooses the order of arguments, and each layer draws its weights from the same random stream.
torch::nn::Sequential make_mlp(const DataShape& data) {
  constexpr std::int64_t kHidden = 128;
  torch::nn::Sequential layers;
  layers->push_back(torch::nn::Linear(static_cast<std::int64_t>(data.inputs()), kHidden));
  layers->push_back(torch::nn::ReLU());
  layers->push_back(torch::nn::Linear(kHidden, static_cast<std::int64_t>(data.classes)));
  return layers;
}

torch::nn::Sequential make_cnn(const DataShape& data) {
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
  const std::size_t places = (data.height / kCnnSideMin) * (data.width / kCnnSideMin);
  layers->push_back(torch::nn::Linear(planes * static_cast<std::int64_t>(places),
                                      static_cast<std::int64_t>(data.classes)));
  return layers;
}

// Throws a usage error for a network that is unknown or does not fit.
torch::nn::Sequential make_layers(const Spec& spec, const DataShape& data) {
  SpecReader reader("network", spec);
  const bool images = data.kind == DataKind::kImages;
  if (spec.name == "mlp") {
    reader.finish();
    require(spec, data, data.kind != DataKind::kText, "images or features");
    return make_mlp(data);
  }
  if (spec.name == "cnn") {
    reader.finish();
    require(spec,
            data,
            images && data.height >= kCnnSideMin && data.width >= kCnnSideMin,
            "images of at least 8x8");
    return make_cnn(data);
  }
  if (spec.name == "resnet8") {
    reader.finish();
    require(spec, data, images, "images");
    return make_resnet8(data);
  }
  if (spec.name == "charlm") {
    const CharlmOptions options = read_charlm_options(reader);
    reader.finish();
    require(spec, data, data.kind == DataKind::kText, "text");
    return make_charlm(options, data);
  }
  std::vector<std::string> names;
  for (const NetworkDoc& doc : kinds_of_network()) {
    names.push_back(doc.name);
  }
  throw usage_error("unknown network '" + spec.name + "'" + suggestion(spec.name, names));
}

}  // namespace

struct Network::Layers {
  std::vector<std::int64_t> example;  // The shape of one example, as the first layer takes it.
  torch::nn::Sequential sequence;
  std::vector<torch::Tensor> parameters;  // In the manifest's order.

  Layers(const Spec& spec, const DataShape& data) : sequence(make_layers(spec, data)) {
    if (spec.name == "cnn" || spec.name == "resnet8") {
      example = {1, static_cast<std::int64_t>(data.height), static_cast<std::int64_t>(data.width)};
    } else {
      example = {static_cast<std::int64_t>(data.inputs())};
    }
    parameters = sequence->parameters();
    // Only parameters travel between server and workers.
    CHECK(sequence->buffers().empty());
  }

  // A backward pass that reports each tensor; empty between such passes.
  struct Told {
    float* gradient = nullptr;
    const std::function<void(std::size_t tensor)>* ready = nullptr;
  };
  Told told;
  bool hooked = false;

  // A leaf's hook is called with its whole gradient, however often the network uses it. Hooks are
  // never removed, because libtorch keeps the slot of each hook for ever.
  void hook() {
    std::size_t begin = 0;
    for (std::size_t tensor = 0; tensor < parameters.size(); ++tensor) {
      parameters[tensor].register_hook([this, tensor, begin](const torch::Tensor& one) {
        if (told.ready != nullptr) {
          const torch::Tensor flat = one.contiguous();
          std::copy_n(flat.data_ptr<float>(), flat.numel(), told.gradient + begin);
          (*told.ready)(tensor);
        }
      });
      begin += static_cast<std::size_t>(parameters[tensor].numel());
    }
  }
};

Network::Network(const Spec& spec, const DataShape& data)
    : layers_(std::make_unique<Layers>(spec, data)) {
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
    // Tensors cannot be const; no pass writes to a parameter.
    parameter.set_data(torch::from_blob(const_cast<float*>(next), parameter.sizes()));
    next += parameter.numel();
  }
}

at::Tensor Network::forward(const at::Tensor& inputs,
                            const Cancelled& cancelled,
                            const std::function<void(std::size_t numbers)>& needs) {
  const auto poll = [&cancelled] {
    if (cancelled && cancelled()) {
      throw GivenUp();
    }
  };
  std::vector<std::int64_t> shape{inputs.size(0)};
  shape.insert(shape.end(), layers_->example.begin(), layers_->example.end());
  torch::Tensor values = inputs.view(shape);
  std::size_t numbers = 0;  // The manifest has the layers' weights in their order.
  for (torch::nn::AnyModule& layer : *layers_->sequence) {
    if (needs) {
      for (const torch::Tensor& parameter : layer.ptr()->parameters()) {
        numbers += static_cast<std::size_t>(parameter.numel());
      }
      needs(numbers);
    }
    poll();
    values = layer.forward(values);
    if (cancelled && values.requires_grad()) {
      // Called when the backward pass is about to enter this layer. autograd passes on exceptions
      // and discards the pass.
      values.register_hook([poll](const torch::Tensor&) { poll(); });
    }
  }
  return values.flatten(0, -2);  // For a text, [n, context, classes] so far.
}

void Network::gradient(const at::Tensor& loss, std::span<float> gradient) {
  CHECK(gradient.size() == manifest_.numbers());
  // Not backward(): that would add to tensors that must be cleared first, and would leave part of a
  // gradient there if it was cancelled.
  const auto gradients = torch::autograd::grad({loss}, layers_->parameters);
  float* next = gradient.data();
  for (const torch::Tensor& one : gradients) {
    const torch::Tensor flat = one.contiguous();
    next = std::copy_n(flat.data_ptr<float>(), flat.numel(), next);
  }
}

void Network::gradient_in_parts(const at::Tensor& loss,
                                std::span<float> gradient,
                                const std::function<void(std::size_t tensor)>& ready) {
  CHECK(gradient.size() == manifest_.numbers());
  layers_->told = {.gradient = gradient.data(), .ready = &ready};
  if (!std::exchange(layers_->hooked, true)) {
    layers_->hook();
  }
  const auto end = [this] {
    layers_->told = {};
    for (torch::Tensor& parameter : layers_->parameters) {
      parameter.mutable_grad().reset();  // Otherwise the next pass would add to it.
    }
  };
  try {
    loss.backward();
  } catch (...) {
    end();
    throw;
  }
  end();
}

std::vector<float> Network::initial_weights(const Spec& spec,
                                            const DataShape& data,
                                            std::uint64_t seed) {
  torch::manual_seed(seed);
  const Layers layers(spec, data);
  std::vector<float> weights;
  for (const torch::Tensor& parameter : layers.parameters) {
    const float* numbers = parameter.data_ptr<float>();
    weights.insert(weights.end(), numbers, numbers + parameter.numel());
  }
  return weights;
}

std::span<const NetworkDoc> network_docs() {
  return kinds_of_network();
}

protocol::Manifest network_manifest(const Spec& spec, const DataShape& data) {
  return Network(spec, data).manifest();
}

}  // namespace outpace::learn
