#include "learn/network.h"

#include <algorithm>
#include <utility>

#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/residual.h"
#include "learn/resnet18.h"
#include "learn/transformer.h"

namespace outpace::learn {
namespace {

constexpr std::size_t kCnnSideMin = 8;     // Three poolings halve a side, rounding down.
constexpr std::size_t kCifarSideMin = 12;  // The last pooling takes 3x3 places.
// The share of the running statistics that an update keeps: 1 - PyTorch's momentum of 0.1.
constexpr double kStatisticsKept = 0.9;

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
  auto planes = static_cast<std::int64_t>(data.channels);
  for (const std::int64_t next : {16, 32, 32}) {
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

torch::nn::Conv2d convolution_5x5(std::int64_t from, std::int64_t to) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, /*kernel_size=*/5).padding(2));
}

// A side after a 3x3 pooling of stride 2 whose last window may reach over the edge.
std::int64_t pooled_side(std::int64_t side) {
  return (side - 2) / 2 + 1;
}

// Caffe's cifar10_full (BVLC, examples/cifar10), without its local response normalisation, which
// has no weights: 89,578 of them for CIFAR-10. Its first pooling comes before the ReLU.
torch::nn::Sequential make_cifar(const DataShape& data) {
  torch::nn::Sequential layers;
  layers->push_back(convolution_5x5(static_cast<std::int64_t>(data.channels), 32));
  layers->push_back(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2).ceil_mode(true)));
  layers->push_back(torch::nn::ReLU());
  for (const std::int64_t planes : {32, 64}) {
    layers->push_back(convolution_5x5(32, planes));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(
        torch::nn::AvgPool2d(torch::nn::AvgPool2dOptions(3).stride(2).ceil_mode(true)));
  }
  layers->push_back(torch::nn::Flatten());
  std::int64_t places = 1;
  for (const std::size_t side : {data.height, data.width}) {
    places *= pooled_side(pooled_side(pooled_side(static_cast<std::int64_t>(side))));
  }
  layers->push_back(torch::nn::Linear(64 * places, static_cast<std::int64_t>(data.classes)));
  return layers;
}

// Throws a usage error for a network that is unknown or does not fit.
torch::nn::Sequential make_layers(const Spec& spec, const DataShape& data) {
  SpecReader reader("network", spec);
  const bool images = data.kind == DataKind::kImages;
  const auto images_from = [&data, images](std::size_t side) {
    return images && data.height >= side && data.width >= side;
  };
  if (spec.name == "mlp") {
    reader.finish();
    require(spec, data, data.kind != DataKind::kText, "images or features");
    return make_mlp(data);
  }
  if (spec.name == "cnn") {
    reader.finish();
    require(spec, data, images_from(kCnnSideMin), "images of at least 8x8");
    return make_cnn(data);
  }
  if (spec.name == "cifar") {
    reader.finish();
    require(spec, data, images_from(kCifarSideMin), "images of at least 12x12");
    return make_cifar(data);
  }
  if (spec.name == "resnet8") {
    reader.finish();
    require(spec, data, images, "images");
    return make_resnet8(data);
  }
  if (spec.name == "resnet18") {
    const std::uint64_t width = read_resnet18_width(reader);
    reader.finish();
    require(spec, data, images_from(kResnet18SideMin), "images of at least 16x16");
    return make_resnet18(width, data);
  }
  if (spec.name == "charlm") {
    const CharlmOptions options = read_charlm_options(reader);
    reader.finish();
    require(spec, data, data.kind == DataKind::kText, "text");
    return make_charlm(options, data);
  }
  static const std::vector<std::string> kNames{
      "mlp", "cnn", "cifar", "resnet8", "resnet18", "charlm"};
  throw usage_error("unknown network '" + spec.name + "'" + suggestion(spec.name, kNames));
}

}  // namespace

struct Network::Layers {
  std::vector<std::int64_t> example;  // The shape of one example, as the first layer takes it.
  torch::nn::Sequential sequence;
  std::vector<torch::Tensor> parameters;  // In the manifest's order, which `statistics` end.
  std::vector<torch::Tensor> statistics;  // The statistics of batch normalisation.
  std::vector<std::string> statistics_names;

  Layers(const Spec& spec, const DataShape& data) : sequence(make_layers(spec, data)) {
    if (data.kind == DataKind::kImages && spec.name != "mlp") {
      example = {static_cast<std::int64_t>(data.channels),
                 static_cast<std::int64_t>(data.height),
                 static_cast<std::int64_t>(data.width)};
    } else {
      example = {static_cast<std::int64_t>(data.inputs())};
    }
    parameters = sequence->parameters();
    for (const auto& buffer : sequence->named_buffers()) {
      if (buffer.value().is_floating_point()) {  // The count of mini-batches is not used.
        statistics_names.push_back(buffer.key());
        statistics.push_back(buffer.value());
      }
    }
  }

  // The mini-batch's own statistics, as the forward pass left them, to the end of the gradient.
  void write_statistics(std::span<float> gradient) const {
    std::size_t numbers = 0;
    for (const torch::Tensor& one : statistics) {
      numbers += static_cast<std::size_t>(one.numel());
    }
    float* next = gradient.last(numbers).data();
    for (const torch::Tensor& one : statistics) {
      next = std::copy_n(one.data_ptr<float>(), one.numel(), next);
    }
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

Network::Network(const Spec& spec, const DataShape& data, Pass pass)
    : layers_(std::make_unique<Layers>(spec, data)), pass_(pass) {
  layers_->sequence->train(pass == Pass::kTrain);
  const auto add = [this](const std::string& name, const torch::Tensor& tensor) {
    protocol::TensorInfo info{.name = name, .shape = {}};
    for (const std::int64_t extent : tensor.sizes()) {
      info.shape.push_back(static_cast<std::uint64_t>(extent));
    }
    manifest_.tensors.push_back(std::move(info));
  };
  for (const auto& parameter : layers_->sequence->named_parameters()) {
    add(parameter.key(), parameter.value());
  }
  for (std::size_t i = 0; i < layers_->statistics.size(); ++i) {
    add(layers_->statistics_names[i], layers_->statistics[i]);
  }
}

Network::~Network() = default;

protocol::Script Network::script() const {
  if (layers_->statistics.empty()) {
    return {};
  }
  protocol::Script script{
      .groups = {{.method = protocol::Method::kByServer, .rate = 1.0},
                 {.method = protocol::Method::kAverage, .momentum = kStatisticsKept}},
      .group_of = std::vector<std::uint32_t>(layers_->parameters.size(), 0)};
  script.group_of.resize(manifest_.tensors.size(), 1);
  return script;
}

void Network::use(std::span<const float> weights) {
  CHECK(weights.size() == manifest_.numbers());
  const float* next = weights.data();
  const auto view = [&next](torch::Tensor& tensor) {
    // Tensors cannot be const; no pass writes to one that is a view.
    tensor.set_data(torch::from_blob(const_cast<float*>(next), tensor.sizes()));
    next += tensor.numel();
  };
  std::ranges::for_each(layers_->parameters, view);
  if (pass_ == Pass::kEvaluate) {
    std::ranges::for_each(layers_->statistics, view);
    return;
  }
  for (torch::Tensor& one : layers_->statistics) {
    one.zero_();  // The pass adds its own to 0 times these, which must be finite.
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
  std::size_t left = layers_->sequence->size();
  for (torch::nn::AnyModule& layer : *layers_->sequence) {
    if (needs) {
      for (const torch::Tensor& parameter : layer.ptr()->parameters()) {
        numbers += static_cast<std::size_t>(parameter.numel());
      }
      // The statistics are counted to the last layer, so that no weights are left to come.
      needs(--left == 0 ? manifest_.numbers() : numbers);
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
  layers_->write_statistics(gradient);
}

void Network::gradient_in_parts(const at::Tensor& loss,
                                std::span<float> gradient,
                                const std::function<void(std::size_t tensor)>& ready) {
  CHECK(gradient.size() == manifest_.numbers());
  layers_->write_statistics(gradient);
  for (std::size_t tensor = manifest_.tensors.size(); tensor > layers_->parameters.size();) {
    ready(--tensor);
  }
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
  for (const auto* tensors : {&layers.parameters, &layers.statistics}) {
    for (const torch::Tensor& tensor : *tensors) {
      const float* numbers = tensor.data_ptr<float>();
      weights.insert(weights.end(), numbers, numbers + tensor.numel());
    }
  }
  return weights;
}

protocol::Manifest network_manifest(const Spec& spec, const DataShape& data) {
  return Network(spec, data).manifest();
}

}  // namespace outpace::learn
