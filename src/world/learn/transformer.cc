#include "learn/transformer.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn.h>

#include "base/error.h"

namespace outpace::learn {
namespace {

// Maps character indices [n, C] to [n, C, d].
class Embedding final : public torch::nn::Module {
 public:
  Embedding(std::int64_t vocabulary, std::int64_t context, std::int64_t width)
      : tokens_(register_module("tokens", torch::nn::Embedding(vocabulary, width))),
        positions_(register_parameter("positions", torch::empty({context, width}))) {}

  torch::Tensor forward(const torch::Tensor& characters) {
    return tokens_(characters.to(torch::kLong)) + positions_;
  }

 private:
  torch::nn::Embedding tokens_;
  torch::Tensor positions_;
};

// Maps [n, C, d] to the same shape, added to its input.
class Attention final : public torch::nn::Module {
 public:
  Attention(std::int64_t context, std::int64_t width, std::int64_t heads)
      : heads_(heads),
        norm_(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        qkv_(register_module("qkv", torch::nn::Linear(width, 3 * width))),
        projection_(register_module("projection", torch::nn::Linear(width, width))),
        // A constant, not a buffer: masks the places ahead of each place.
        ahead_(torch::full({context, context}, -std::numeric_limits<float>::infinity()).triu(1)) {}

  torch::Tensor forward(const torch::Tensor& values) {
    const std::int64_t count = values.size(0);
    const std::int64_t context = values.size(1);
    const std::int64_t width = values.size(2);
    // [3, n, heads, C, d / heads]
    const torch::Tensor all = qkv_(norm_(values))
                                  .view({count, context, 3, heads_, width / heads_})
                                  .permute({2, 0, 3, 1, 4});
    const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads_));
    const torch::Tensor scores = torch::matmul(all[0] * scale, all[1].transpose(-2, -1)) + ahead_;
    const torch::Tensor mixed = torch::matmul(torch::softmax(scores, -1), all[2]);
    return values + projection_(mixed.transpose(1, 2).reshape({count, context, width}));
  }

  // Its initial scale shrinks with the number of layers, so that the sum over layers does not grow.
  [[nodiscard]] torch::Tensor& added() { return projection_->weight; }

 private:
  std::int64_t heads_;
  torch::nn::LayerNorm norm_;
  torch::nn::Linear qkv_;
  torch::nn::Linear projection_;
  torch::Tensor ahead_;
};

// Maps [n, C, d] to the same shape, added to its input; each place on its own.
class FeedForward final : public torch::nn::Module {
 public:
  explicit FeedForward(std::int64_t width)
      : norm_(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        up_(register_module("up", torch::nn::Linear(width, 4 * width))),
        down_(register_module("down", torch::nn::Linear(4 * width, width))) {}

  torch::Tensor forward(const torch::Tensor& values) {
    return values + down_(torch::gelu(up_(norm_(values))));
  }

  [[nodiscard]] torch::Tensor& added() { return down_->weight; }

 private:
  torch::nn::LayerNorm norm_;
  torch::nn::Linear up_;
  torch::nn::Linear down_;
};

constexpr double kDeviation = 0.02;

// GPT-2's: matrices normal with deviation 0.02, biases 0, scales of norms 1 and their shifts 0.
void initialise(torch::nn::Sequential& layers) {
  const torch::NoGradGuard no_gradient;
  for (auto& named : layers->named_parameters()) {
    torch::Tensor& parameter = named.value();
    if (parameter.dim() >= 2) {
      parameter.normal_(0.0, kDeviation);
    } else if (named.key().find("norm.") == std::string::npos) {
      parameter.zero_();
    }
  }
}

}  // namespace

CharlmOptions read_charlm_options(SpecReader& reader) {
  CharlmOptions options;
  options.layers = reader.count("layers", options.layers, 1, 24);
  options.width = reader.count("width", options.width, 1, 1024);
  options.heads = reader.count("heads", options.heads, 1, 64);
  if (options.width % options.heads != 0) {
    throw usage_error("network 'charlm': a width of " + std::to_string(options.width) +
                      " cannot be divided among " + std::to_string(options.heads) +
                      " heads; make width a multiple of heads");
  }
  return options;
}

torch::nn::Sequential make_charlm(const CharlmOptions& options, const DataShape& data) {
  const auto vocabulary = static_cast<std::int64_t>(data.classes);
  const auto context = static_cast<std::int64_t>(data.width);
  const auto width = static_cast<std::int64_t>(options.width);
  const auto heads = static_cast<std::int64_t>(options.heads);
  torch::nn::Sequential layers;
  std::vector<torch::Tensor> added;
  layers->push_back("embedding", std::make_shared<Embedding>(vocabulary, context, width));
  for (std::uint64_t layer = 0; layer < options.layers; ++layer) {
    const auto attention = std::make_shared<Attention>(context, width, heads);
    const auto feed_forward = std::make_shared<FeedForward>(width);
    added.push_back(attention->added());
    added.push_back(feed_forward->added());
    layers->push_back("attention" + std::to_string(layer), attention);
    layers->push_back("feed_forward" + std::to_string(layer), feed_forward);
  }
  layers->push_back("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  layers->push_back("logits", torch::nn::Linear(width, vocabulary));
  initialise(layers);
  const torch::NoGradGuard no_gradient;
  for (torch::Tensor& weight : added) {
    weight.div_(std::sqrt(2.0 * static_cast<double>(options.layers)));
  }
  return layers;
}

}  // namespace outpace::learn
